"""The object store or volume of a job, and the proxy that decides which addresses it may reach.

The only user of obstore. Called by the jobs in `baoctl.jobs`.
"""
