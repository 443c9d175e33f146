"""Stores service records: one BootstrapWorkload for each service.

Called by `managers.datacenter.lifecycle.driver` through `managers.datacenter.interfaces`.
"""
