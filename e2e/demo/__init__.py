"""The demo: from a bare machine to a live OpenBao cluster that has proved itself.

May use e2e.rig, contracts (names and reasons), the standard library, click, orjson and pyyaml;
never runtime or managers. Called by `make demo`; e2e.measure builds on its parts.
"""
