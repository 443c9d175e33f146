"""Stores the state of services: one BootstrapWorkload each.

Called by `managers.datacenter.lifecycle.driver` through `managers.datacenter.interfaces`.
"""
