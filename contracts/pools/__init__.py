"""The pools of servers and the names of their objects: blue, green, and the read replicas.

Pure. May use `contracts.naming` and `contracts.api`.
"""
