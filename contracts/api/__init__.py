"""The API types: pydantic models, the rules of a spec, and the fields that are not supported yet.

May use pydantic, runtime.types and contracts.naming.names.
`contracts.api.api_object.ApiObject.from_object` reads an object of the API server;
`contracts.api.rules.cluster.violations` returns the rules that a spec breaks;
`contracts.api.rules.unsupported_fields.unserved_fields` returns the unsupported fields;
`contracts.api.schema.crd` generates the CRD. The modules of `contracts.api.cluster` have the parts
of the spec and the status of a cluster.
"""
