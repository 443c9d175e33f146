"""Transfer and inspection of snapshots: from the leader to the store, from the store to a disk.

Called by the jobs in `baoctl.jobs`.
"""
