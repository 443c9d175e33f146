"""Measures throughput and memory of a backup job, compared to the bare store library.

Both send the same bytes from the same HTTPS server to the same minio, one after the other, each in
a separate process. `python -m e2e.stream`; needs no rig and no root.
"""
