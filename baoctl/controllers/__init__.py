"""The controllers of a process: the caches, watches and predicates of each reconciler.

The counterpart of `SetupWithManager` in controller-runtime. May use managers and runtime; called by
`baoctl.process.wiring` and `baoctl.process.provisioner` after the election.
"""
