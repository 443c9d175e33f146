"""A hostile tenant runs all known attacks on the operator; another tenant is not affected."""
