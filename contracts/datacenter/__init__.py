"""Shared services of a datacenter: the three kinds, their rules and their order. No I/O.

May use contracts.api and runtime.types. Called by managers.datacenter, by baoctl and by the CRD
generator.
"""
