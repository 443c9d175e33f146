"""The API server is away for a while: the operator stays, and catches up."""
