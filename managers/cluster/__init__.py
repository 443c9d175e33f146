"""The reconcile of one OpenBaoCluster: observe, resolve, plan, apply, effects, status, deletion.

`reconcile.py` has the whole data flow. May import every feature; composed by
`baoctl.process.wiring`.
"""
