"""Leader election on a Lease.

The `tools/leaderelection` of client-go; the guard that it gives is asked before every write.
"""
