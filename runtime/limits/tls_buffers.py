"""The memory of a TLS connection. Called once, before a process opens connections."""

from asyncio import sslproto
from typing import Final

READ_BUFFER: Final = 32 << 10
"""Bytes; a TLS record holds 16 KiB (RFC 8446, 5.1)."""


def shrink_tls_buffers() -> None:
    """Have asyncio allocate small read buffers for TLS connections of this process.

    It allocates 256 KiB for each connection and keeps them (CPython 3.11 to 3.14,
    Lib/asyncio/sslproto.py, SSLProtocol.max_size, which no argument sets). A process that holds
    dozens of idle watches has little else. A transfer reads more often with less.
    """
    sslproto.SSLProtocol.max_size = READ_BUFFER
