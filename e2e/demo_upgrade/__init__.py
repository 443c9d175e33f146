"""The upgrade demo: upgrades three servers while a client writes.

Called by `make demo-upgrade`. `story` has the steps, `tree` draws the state.
"""
