"""Measurements: the operator compared to the same pods without an operator.

May use e2e.demo, e2e.rig, contracts (names and labels), the standard library, click and orjson;
never runtime or managers. Run by `make measure`.
"""
