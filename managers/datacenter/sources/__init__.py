"""Where the services of a datacenter come from: its own list, service sets, and hooks of packages.

`merge` makes one list of them. Called by `managers.datacenter.lifecycle.service`.
"""
