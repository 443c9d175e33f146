"""Blue/green upgrades: `table` has every state and transition, `decide` takes one step of it.

Pure but for `actions` and `observe`. Called by `managers.upgrade.decide` and by managers.cluster.
"""
