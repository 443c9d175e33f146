"""A client in the network of the rig that writes ten secrets per second, and reports each write.

    python -m e2e.harness.service_client [--read-back] <target.json >writes

It keeps its connection, and opens a new one after a failure; writes are not retried. One line per
write: number, end time (CLOCK_MONOTONIC, shared by all processes), duration in seconds, and the
error, if any. With --read-back each acknowledged write is read over the same connection until it
is visible; after VISIBLE_SECONDS the line has what was read instead.
"""

import http.client
import socket
import ssl
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import orjson

EVERY = 0.1
READ_BACK = "--read-back"
# While elections follow one another, a server may answer from its own copy for a moment.
VISIBLE_SECONDS = 5.0
_AGAIN = 0.05


@dataclass(frozen=True, slots=True)
class Target:
    """The address of the Service, its CA and server name, and the login."""

    address: str
    port: int
    authority: str
    server_name: str
    token: str
    path: str
    patience: float
    """Seconds. A write that takes longer counts as failed, and its connection is closed."""


@dataclass(slots=True)
class Connection:
    """One keep-alive connection. Raises OSError and HTTPException."""

    target: Target
    _connection: http.client.HTTPConnection | None = field(default=None)

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, bytes]:
        """Send one request and return status code and body of the response."""
        try:
            connection = self._connection or self._connect()
            data = None if body is None else orjson.dumps(body)
            headers = {"X-Vault-Token": self.target.token}
            connection.request(method, f"/v1/{path}", body=data, headers=headers)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def write(self, number: int) -> str:
        """Write one secret; return the error, "" if it was acknowledged."""
        path = f"{self.target.path}/canary-{number}"
        try:
            code, words = self.call("POST", path, {"value": str(number)})
        except (OSError, http.client.HTTPException) as error:
            return f"{type(error).__name__}: {error}"
        if code == 204:
            return ""
        # Another server may respond.
        self.close()
        return f"{code}: {words[:200]!r}"

    def reads(self, number: int) -> bool:
        """Whether the secret of that number has its value."""
        code, body = self.call("GET", f"{self.target.path}/canary-{number}")
        return code == 200 and orjson.loads(body)["data"] == {"value": str(number)}

    def missed(self, number: int) -> str:
        """Read an acknowledged secret until it is visible, for VISIBLE_SECONDS at most.

        Returns "" if it is visible, otherwise the last response. Errors and missing responses are
        not counted: they prove nothing.
        """
        until = time.monotonic() + VISIBLE_SECONDS
        while (answer := self._absent(number)) and time.monotonic() < until:
            time.sleep(_AGAIN)
        return answer

    def _absent(self, number: int) -> str:
        try:
            code, words = self.call("GET", f"{self.target.path}/canary-{number}")
        except (OSError, http.client.HTTPException):
            return ""
        if code == 200 and orjson.loads(words)["data"] == {"value": str(number)}:
            return ""
        return f"{code}: {words[:200]!r} over {self._server()}" if code in (200, 404) else ""

    def _server(self) -> str:
        """Return the state of the server of this connection, and its leader."""
        try:
            return " ".join(
                self.call("GET", f"sys/{path}")[1][:400].decode(errors="replace").strip()
                for path in ("health?standbyok=true", "leader")
            )
        except (OSError, http.client.HTTPException) as error:
            return f"a server that does not answer: {type(error).__name__}"

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connect(self) -> http.client.HTTPConnection:
        target = self.target
        raw = socket.create_connection((target.address, target.port), timeout=target.patience)
        connection = http.client.HTTPConnection(target.address, target.port)
        self._connection = connection
        connection.sock = raw
        context = ssl.create_default_context(cadata=target.authority)
        # The certificate is valid for the name of the cluster, not for the address.
        connection.sock = context.wrap_socket(raw, server_hostname=target.server_name)
        return connection


def main() -> None:
    """Write until this process is stopped."""
    reads_back = sys.argv[1:] == [READ_BACK]
    connection = Connection(Target(**orjson.loads(sys.stdin.buffer.read())))
    number, due = 0, time.monotonic()
    while True:
        number += 1
        began = time.monotonic()
        failed = connection.write(number)
        ended = time.monotonic()
        missed = connection.missed(number) if reads_back and not failed else ""
        report = {
            "number": number,
            "at": ended,
            "took": ended - began,
            "failed": failed,
            "missed": missed,
        }
        sys.stdout.buffer.write(orjson.dumps(report) + b"\n")
        sys.stdout.buffer.flush()
        due = max(due + EVERY, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main()
