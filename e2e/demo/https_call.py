"""One HTTPS request, verified with one CA and one server name.

Runs with the standard library only: `python -I https_call.py` reads a Call as JSON from stdin and
writes an Answer to stdout. So it can run where pod and Service addresses are reachable, and tokens
are never on a command line.
"""

import http.client
import json
import socket
import ssl
import sys
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Call:
    """A request and its target. ``authority`` is PEM text, ``body`` is sent as JSON unless None."""

    host: str
    port: int
    server_name: str
    authority: str
    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    timeout: float = 10.0


@dataclass(frozen=True)
class Answer:
    """HTTP status and JSON body; status 0 and ``error`` without a response."""

    status: int
    body: dict[str, Any] = field(default_factory=dict)
    error: str = ""


class _Connection(http.client.HTTPSConnection):
    """Connects to an address, and verifies the certificate for a name that is not in DNS."""

    def __init__(self, call: Call, context: ssl.SSLContext) -> None:
        super().__init__(call.host, call.port, timeout=call.timeout, context=context)
        self._call = call
        self._tls = context

    def connect(self) -> None:
        raw = socket.create_connection((self._call.host, self._call.port), self._call.timeout)
        try:
            self.sock = self._tls.wrap_socket(raw, server_hostname=self._call.server_name)
        except BaseException:
            raw.close()
            raise


def perform(call: Call) -> Answer:
    """Send the request; connection errors are returned as an Answer."""
    context = ssl.create_default_context(cadata=call.authority)
    connection = _Connection(call, context)
    headers = {"Content-Type": "application/json", **call.headers}
    data = None if call.body is None else json.dumps(call.body)
    try:
        connection.request(call.method, call.path, body=data, headers=headers)
        response = connection.getresponse()
        content = response.read()
    except (OSError, http.client.HTTPException) as error:
        return Answer(0, error=f"{type(error).__name__}: {error}")
    finally:
        connection.close()
    try:
        body = json.loads(content) if content else {}
    except ValueError:
        return Answer(response.status, error="the response is not JSON")
    return Answer(response.status, body if isinstance(body, dict) else {})


def main() -> None:
    """Perform the call on stdin."""
    json.dump(asdict(perform(Call(**json.load(sys.stdin)))), sys.stdout)


if __name__ == "__main__":
    main()
