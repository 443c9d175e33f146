"""The controllers of the process: for each reconciler its caches, its watches and its predicates.

What controller-runtime does in `SetupWithManager`. May use managers and runtime; called by
`baoctl.process.wiring` and `baoctl.process.provisioner`, in a process that leads.
"""
