"""Blue/green upgrades: `table` defines the states and transitions, `decide` selects one of them.

Pure except for `actions` and `observe`. Called by managers.upgrade and managers.cluster.
"""
