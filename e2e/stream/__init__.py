"""How fast a backup job streams, and in how much memory, beside the bare library of stores.

Both send the same bytes from the same HTTPS server to the same minio, one after the other, each in
a process of its own. `python -m e2e.stream`; needs no rig and no root.
"""
