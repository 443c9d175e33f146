"""The demo: creates an OpenBao cluster on an empty machine, and tests that it survives a failover.

May use e2e.rig, e2e.harness.waiting, contracts (names and reasons), the standard library, click,
orjson and pyyaml; never runtime or managers. Called by `make demo`; e2e.measure builds on its
parts.
"""
