"""Validation rules of Datacenters, BootstrapServiceSets and BootstrapWorkloads, in CEL and Python.

`all_rules` lists them. Called by `contracts.datacenter.schema` and by the sources of services.
"""
