"""The rules about datacenters, service sets and workloads, in CEL and in Python.

`all_rules` lists them. Called by `contracts.datacenter.schema` and by the sources of services.
"""
