"""The OpenBaoCluster API: pydantic models, the rules of a spec, and what is not served yet.

May use pydantic, runtime.types and contracts.naming.names. `contracts.api.cluster.spec.parse` is
the one way in from an object of the API server; `contracts.api.rules.cluster.violations` says what
is wrong with a spec; `contracts.api.rules.unsupported_fields.unserved_fields` says what cannot be
honoured; `contracts.api.schema.crd` makes the CRD. The modules beside them hold one part of the
spec each.
"""
