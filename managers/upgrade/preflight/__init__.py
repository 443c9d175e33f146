"""The checks before an upgrade begins, in order: the spec, the servers, and what is to be seen of
them.

Pure. Called by `managers.upgrade.rolling`, `managers.upgrade.bluegreen` and `baoctl upgrade plan`.
"""
