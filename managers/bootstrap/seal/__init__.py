"""The seal of the servers: its Secret, its place in the pod, its prerequisites and its keys.

Called by `managers.bootstrap.plan` and by the condition about it.
"""
