"""A fake API server in memory, for clients, reflectors and owned apply.

A difference from a real kube-apiserver that tests/contract detects is a bug here. It has no
admission, no defaulting, no conversion, no controllers and no garbage collection.

Modules: storage (objects and history), schema and fields (field paths), managed (field managers),
writes and apply, reads, watching, server (routes), wire for a client in the same loop, http for
clients with sockets, and faults that both inject.
"""
