"""The rules about our objects that go beyond the shape of one field, in CEL and in Python.

`cluster` lists those of an OpenBaoCluster. May use `contracts.api.cluster` and
`contracts.api.values`; called by `contracts.api.schema` and by the resolve step.
"""
