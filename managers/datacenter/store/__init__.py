"""Where the state of services is kept: a BootstrapWorkload each.

Called by `managers.datacenter.lifecycle.driver` through `managers.datacenter.interfaces`.
"""
