"""The upgrade demo: upgrades three servers while a client writes.

Called by `make demo-upgrade`. `steps` has the steps, `tree` draws the state.
"""
