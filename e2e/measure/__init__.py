"""The measurements: the operator against the same pods without one.

May use e2e.demo, e2e.rig, contracts (names and labels), the standard library, click and orjson;
never runtime or managers. Called by `make measure`.
"""
