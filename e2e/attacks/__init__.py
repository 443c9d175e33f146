"""Attacks by a user with edit rights in one namespace: T01 to T22.

`table` is the list of attacks, `specs` the forbidden clusters, `payloads` the texts, `mallory` the
attacker. The fuzz tests of admission in tests/integration use the same tables.
"""
