"""A client inside of the rig's network that writes ten secrets a second, and tells of each.

    python -m e2e.harness.service_client [--read-back] <target.json >told

It keeps its connection, as clients do, and makes a new one after a failure; no write is tried
twice. One line per write: its number, the time of its end (CLOCK_MONOTONIC, one clock for the whole
machine), the seconds that it took, and why it failed, if it did. With --read-back each write that
was acknowledged is read over the same connection until it is there, and the line says what was
there instead when VISIBLE_SECONDS went by.
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
# From OpenBao 2.5 on a standby answers reads itself, from what it has applied so far: a tenth of a
# second behind the leader on an idle machine.
VISIBLE_SECONDS = 5.0
_AGAIN = 0.05


@dataclass(frozen=True, slots=True)
class Target:
    """Where to write to: an address of the Service, and by what to know and be known."""

    address: str
    port: int
    authority: str
    server_name: str
    token: str
    path: str
    patience: float
    """Seconds. A write that takes longer counts as failed; its connection is given up."""


@dataclass(slots=True)
class Line:
    """One connection that is kept as long as it works. Raises OSError and HTTPException."""

    target: Target
    _connection: http.client.HTTPConnection | None = field(default=None)

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, bytes]:
        """Send one request and return code and body of the answer."""
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
        """Write one secret; say what went wrong, "" if it was acknowledged."""
        path = f"{self.target.path}/canary-{number}"
        try:
            code, words = self.call("POST", path, {"value": str(number)})
        except (OSError, http.client.HTTPException) as error:
            return f"{type(error).__name__}: {error}"
        if code == 204:
            return ""
        # Another server may do better.
        self.close()
        return f"{code}: {words[:200]!r}"

    def reads(self, number: int) -> bool:
        """Whether the secret of that number is there with its value."""
        code, body = self.call("GET", f"{self.target.path}/canary-{number}")
        return code == 200 and orjson.loads(body)["data"] == {"value": str(number)}

    def missed(self, number: int) -> str:
        """Read a secret that was acknowledged until it is there, for VISIBLE_SECONDS at most.

        Returns "" when it is there, else what the last answer was. An answer that says nothing
        about the secret, or none, is no proof of anything.
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
        return f"{code}: {words[:200]!r}" if code in (200, 404) else ""

    def close(self) -> None:
        """Give the connection up."""
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
        # The certificate is good for the cluster's own name, whatever the address.
        connection.sock = context.wrap_socket(raw, server_hostname=target.server_name)
        return connection


def main() -> None:
    """Write until somebody ends this process."""
    reads_back = sys.argv[1:] == [READ_BACK]
    line = Line(Target(**orjson.loads(sys.stdin.buffer.read())))
    number, due = 0, time.monotonic()
    while True:
        number += 1
        began = time.monotonic()
        failed = line.write(number)
        ended = time.monotonic()
        missed = line.missed(number) if reads_back and not failed else ""
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
