"""OpenBaoCluster: the parts of its spec and of its status, one module each.

`spec` combines them and reads an object of the API server. May use `contracts.api.meta`,
`contracts.api.values` and names; no rules.
"""
