"""Reduces the memory of TLS connections. Called once, before a process opens connections."""

from asyncio import sslproto
from typing import Final

READ_BUFFER: Final = 32 << 10
"""In bytes; a TLS record has at most 16 KiB (RFC 8446, 5.1)."""


def shrink_tls_buffers() -> None:
    """Make asyncio allocate small read buffers for the TLS connections of this process.

    By default it allocates 256 KiB per connection and keeps it (CPython 3.11 to 3.14,
    Lib/asyncio/sslproto.py, SSLProtocol.max_size, which no argument sets): most of the memory of a
    process with dozens of idle watches. With small buffers a transfer needs more reads.
    """
    sslproto.SSLProtocol.max_size = READ_BUFFER
