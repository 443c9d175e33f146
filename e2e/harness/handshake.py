"""Checks the certificate that a pod serves."""

import socket
import ssl

from cryptography import x509

PORT = 8200


def served_serial(address: str, server_name: str, port: int = PORT) -> int:
    """Return the serial number of the certificate that is served. Raises OSError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    der = _shake(context, address, server_name, port)
    if der is None:
        raise OSError(f"{address} sent no certificate")
    return x509.load_der_x509_certificate(der).serial_number


def accepts(address: str, server_name: str, trusted: bytes) -> str:
    """Connect as a client that trusts these PEM certificates; return "" or the error."""
    context = ssl.create_default_context(cadata=trusted.decode())
    try:
        _shake(context, address, server_name)
    except ssl.SSLError as error:
        return str(error)
    return ""


def _shake(
    context: ssl.SSLContext, address: str, server_name: str, port: int = PORT
) -> bytes | None:
    with (
        socket.create_connection((address, port), timeout=5.0) as raw,
        context.wrap_socket(raw, server_hostname=server_name) as tls,
    ):
        return tls.getpeercert(binary_form=True)
