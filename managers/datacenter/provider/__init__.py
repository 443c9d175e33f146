"""Services as Kubernetes objects: rendering, creation, updates and readiness.

Called by `managers.datacenter.lifecycle.driver` through `managers.datacenter.interfaces`.
"""
