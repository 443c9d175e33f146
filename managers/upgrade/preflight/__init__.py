"""The preflight checks of an upgrade, in order: the spec, then the observed servers.

Pure. Called by `managers.upgrade.rolling`, `managers.upgrade.bluegreen` and `baoctl upgrade plan`.
"""
