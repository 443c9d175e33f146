"""Services as Kubernetes objects: rendered, made, changed, and judged ready.

Called by `managers.datacenter.lifecycle.driver` through `managers.datacenter.interfaces`.
"""
