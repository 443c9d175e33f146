"""Which objects belong to which pool of servers: blue, green, and the read replicas.

Pure. May use `contracts.naming` and `contracts.api`.
"""
