"""CA certificates in PEM for a TLS connection. Uses the standard library.

Apart from managers.context.secret_files, because the command line and the Jobs need no library for
certificates. Called by managers.certs, managers.cluster.observe, baoctl.jobs and
baoctl.commands.login.
"""

from __future__ import annotations

import ssl

from runtime.limits.tls import tls_context


class UnreadableFileError(ValueError):
    """The file has another format, or the library cannot use it."""


def ascii_pem(authority: str) -> str:
    """Replace non-ASCII characters, which PEM comments may have and the TLS library rejects."""
    return authority.encode("ascii", "replace").decode()


def check_trusted(authority: str) -> None:
    """Raise UnreadableFileError for PEM certificates that the TLS library rejects.

    The TLS library parses them only when it connects, and is stricter than
    managers.context.secret_files.certificates. Connections that trust these CAs use the same
    context.
    """
    if not authority:
        # The context without a CA trusts those of the system.
        raise UnreadableFileError("it is empty")
    try:
        tls_context(ascii_pem(authority))
    except (ssl.SSLError, ValueError) as error:
        raise UnreadableFileError(
            f"the TLS library reads no certificate in it ({error}): PEM has to start at the first "
            "character of each line"
        ) from error
