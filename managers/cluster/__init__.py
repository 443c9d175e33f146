"""The spine: observe, resolve, plan, apply, effects, status, and deletion of one OpenBaoCluster.

`reconcile.py` shows the whole way of the data on one screen. May import every feature; is
composed by `baoctl.process.wiring`.
"""
