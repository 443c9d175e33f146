"""The test harness of the scenarios: operator processes, waiting, Kubernetes, OpenBao, audit log.

May use e2e.rig, and of the product only names and types (contracts, runtime.types,
runtime.builtin_kinds); only `crashing_operator` runs the product itself. Called by the tests of
the scenario folders.
"""
