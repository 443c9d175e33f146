"""The API types: pydantic models, the rules of a spec, and the fields that are not supported yet.

May use pydantic, runtime.types and contracts.naming.names. `contracts.api.cluster.spec.parse` reads
an object of the API server; `contracts.api.rules.cluster.violations` returns the rules that a spec
breaks; `contracts.api.rules.unsupported_fields.unserved_fields` returns the unsupported fields;
`contracts.api.schema.crd` generates the CRD. Each of the other modules has one part of the spec.
"""
