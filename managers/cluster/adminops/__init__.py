"""The adminops reconciler: operations inside of OpenBao, once the cluster has data.

May use the features and `managers.cluster.observe`; called by `baoctl.controllers`.
"""
