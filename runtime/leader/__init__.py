"""Leader election on a Lease.

The counterpart of `tools/leaderelection` of client-go, with a guard that is called before every
write.
"""
