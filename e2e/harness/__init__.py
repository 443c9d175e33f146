"""What the scenarios share: operator processes, waiting, reading Kubernetes, OpenBao and audit.

May use e2e.rig, and of the product only its words (contracts, runtime.types,
runtime.builtin_kinds); `crashing_operator` alone runs the product itself. Called by the tests of
the scenario folders.
"""
