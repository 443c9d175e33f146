"""The object store or volume of a job, and the proxy that decides which addresses it may reach.

Only this package uses obstore. Called by the jobs in `baoctl.jobs`.
"""
