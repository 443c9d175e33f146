"""Blue/green upgrades: `table` has every state and transition, `decide` takes one of them.

Pure but for `actions` and `observe`. Called by `managers.upgrade.decide` and by managers.cluster.
"""
