"""The adminops reconciler: operations inside OpenBao, after the initialization.

May use the features and `managers.cluster.observe`; composed by `baoctl.process.wiring`.
"""
