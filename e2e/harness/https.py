"""A client of OpenBao that knows a host name and a CA, and reaches it through a proxy."""

import http.client
import socket
import ssl
from dataclasses import dataclass

import orjson

from runtime.types import Object

_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Site:
    """The address of a proxy, the host name that clients use, and the CA (PEM) that they trust."""

    address: str
    port: int
    host: str
    authority: bytes

    def request(
        self, method: str, path: str, *, token: str = "", body: Object | None = None
    ) -> tuple[int, Object]:
        """Return status and body of a response; {} for a body that is not JSON. Raises OSError."""
        context = ssl.create_default_context(cadata=self.authority.decode())
        raw = socket.create_connection((self.address, self.port), timeout=_SECONDS)
        connection = http.client.HTTPConnection(self.host)
        try:
            connection.sock = context.wrap_socket(raw, server_hostname=self.host)
            headers = {"X-Vault-Token": token} if token else {}
            content = None if body is None else orjson.dumps(body)
            connection.request(method, f"/v1/{path}", body=content, headers=headers)
            response = connection.getresponse()
            return response.status, _parse(response.read())
        finally:
            connection.close()
            raw.close()


def _parse(content: bytes) -> Object:
    try:
        response = orjson.loads(content)
    except ValueError:
        return {}
    return response if isinstance(response, dict) else {}
