"""Multi-tenant mode: the operator has only the permissions granted in each namespace."""
