"""A hostile tenant uses all known attacks on the operator; another tenant is not affected."""
