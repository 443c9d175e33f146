"""The controllers of a process: the caches, watches and predicates of each reconciler.

Corresponds to `SetupWithManager` of controller-runtime. May use managers and runtime. Called by
baoctl.process.wiring and baoctl.process.provisioner after the election.
"""
