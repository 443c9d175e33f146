"""The sources of services of a datacenter: its own list, service sets, and hooks of packages.

`merge` combines them into one list. Called by `managers.datacenter.lifecycle.service`.
"""
