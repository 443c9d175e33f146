"""Snapshots on their way: from the leader to the store, from the store to a disk, and their
inspection.

Called by the jobs in `baoctl.jobs`.
"""
