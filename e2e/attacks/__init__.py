"""Privilege escalation by a user of one namespace: T01 to T22 of the list of attacks.

`table` is the list, `specs` the clusters that are asked for, `payloads` the texts, `mallory` the
person. The same tables serve the fuzz of admission in tests/integration.
"""
