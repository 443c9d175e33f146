"""Transfer of snapshots: from the leader to the store, from the store to a disk, and inspection.

Called by the jobs in `baoctl.jobs`.
"""
