"""The sources of services of a datacenter: its own list, BootstrapServiceSets, and hooks.

`merge` combines them into one list. Called by `managers.datacenter.lifecycle.service`.
"""
