"""TLS contexts for connections to untrusted servers. Uses the standard library.

Called by clients whose servers belong to tenants. Connections share a context: a new one takes as
much CPU time as a third of a handshake, and more with CAs. No connection resumes the session of
another one, so the server sends its certificate in every handshake.
"""

from __future__ import annotations

import functools
import ssl

CIPHERS = "@SECLEVEL=2:ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES:!aNULL:!eNULL:!aDSS:!SHA1:!AESCCM"
"""The ciphers of Python for TLS 1.2 without DHE: the server chooses its group, and one of 10,000
bits would block the event loop for a second. Go servers do not support DHE."""


@functools.lru_cache(maxsize=64)
def tls_context(authority: str = "") -> ssl.SSLContext:
    """Return the context of a client that trusts a CA, as PEM; "" for the CAs of the system.

    The CAs of the system respect SSL_CERT_FILE and SSL_CERT_DIR, and take 45 ms to read. Raises
    ssl.SSLError.
    """
    context = ssl.create_default_context(cadata=authority or None)
    context.set_ciphers(CIPHERS)
    return context


@functools.cache
def unverified_context() -> ssl.SSLContext:
    """Return the context of a client that accepts every certificate: it may only read it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ciphers(CIPHERS)
    return context
