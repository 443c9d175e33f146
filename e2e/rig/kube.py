"""A minimal Kubernetes API client: JSON over HTTPS with a client certificate.

Used by the rig itself (readiness, volumes); tests use kubectl or the operator's own client.
"""

import ssl
import tempfile
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import orjson
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError

Object = dict[str, Any]
MERGE_PATCH = "application/merge-patch+json"
# Timeout of a response in seconds: an API server that shares two cores is slow at times, and after
# its start until it has loaded its admission policies.
PATIENCE = 20.0
# Threads that call at the same time, at most; each has its own connection.
THREADS = 16
# Retries of client-go for a response with Retry-After.
TRIES = 11
# kubectl wait fails for an object without conditions; the first ones appear with the names.
_NAMED = "--for=jsonpath={.status.acceptedNames.kind}"
_ESTABLISHED = '--for=jsonpath={.status.conditions[?(@.type=="Established")].status}=True'


def wait_established(kubectl: Callable[..., object], *definitions: str) -> None:
    """Wait until the API server serves the kinds; `definitions` are arguments of kubectl wait."""
    for what in (_NAMED, _ESTABLISHED):
        kubectl("wait", what, "--timeout=60s", *definitions)


class ApiError(Exception):
    """A response other than 2xx: HTTP status code and message.

    `again`: seconds of the Retry-After header; None without one.
    """

    def __init__(self, code: int, message: str, again: float | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.again = again


@dataclass(frozen=True, slots=True)
class Kube:
    """One API server and one identity.

    Connections stay open: scenarios poll, and a handshake costs both sides more than a read.
    """

    pool: HTTPConnectionPool
    user_agent: str = "openbao-rig"
    token: str = ""
    """A bearer token; empty for the identity of the connection."""

    @classmethod
    def from_kubeconfig(cls, path: Path, user_agent: str = "openbao-rig") -> "Kube":
        """Read a kubeconfig as the rig writes it: JSON, one cluster, embedded certificates."""
        config = orjson.loads(path.read_bytes())
        cluster = config["clusters"][0]["cluster"]
        user = config["users"][0]["user"]
        authority = b64decode(cluster["certificate-authority-data"]).decode()
        context = ssl.create_default_context(cadata=authority)
        with tempfile.NamedTemporaryFile() as pair:
            pair.write(b64decode(user["client-certificate-data"]))
            pair.write(b64decode(user["client-key-data"]))
            pair.flush()
            context.load_cert_chain(pair.name)
        return cls(_pool(cluster["server"], context), user_agent)

    @classmethod
    def with_token(cls, path: Path, token: str) -> "Kube":
        """Read the address and the CA of the API server; the token is the only identity."""
        cluster = orjson.loads(path.read_bytes())["clusters"][0]["cluster"]
        authority = b64decode(cluster["certificate-authority-data"]).decode()
        context = ssl.create_default_context(cadata=authority)
        return cls(_pool(cluster["server"], context), token=token)

    def get(self, path: str) -> Object:
        """GET a JSON document. Raises ApiError, OSError.

        For a second or two after a CRD was written, and after a restart, lists of a kind get 429
        and Retry-After (kube-apiserver 1.36).
        """
        for _ in range(TRIES - 1):
            try:
                return self._call("GET", path, None)
            except ApiError as error:
                if error.code != 429 or error.again is None:
                    raise
                time.sleep(error.again)
        return self._call("GET", path, None)

    def text(self, path: str) -> str:
        """GET plain text, for example /readyz. Raises ApiError, OSError."""
        return self._send("GET", path, None).decode()

    def create(self, path: str, body: Object) -> Object:
        """POST an object. Raises ApiError, OSError."""
        return self._call("POST", path, body)

    def patch(self, path: str, body: Object) -> Object:
        """Send a JSON merge patch. Raises ApiError, OSError."""
        return self._call("PATCH", path, body)

    def delete(self, path: str, body: Object | None = None) -> Object:
        """DELETE an object. Raises ApiError, OSError."""
        return self._call("DELETE", path, body)

    def watch(self, path: str, resource_version: str) -> Iterator[Object]:
        """Yield watch events until the server ends the watch. Raises ApiError, OSError."""
        query = urlencode({"watch": "1", "resourceVersion": resource_version})
        # Longer than the limit of the server: a watch may have no events.
        response = self.request("GET", f"{path}?{query}", None, streams=True)
        try:
            if response.status != 200:
                raise _refusal(response, response.read(512))
            yield from map(orjson.loads, _lines(response))
        finally:
            response.close()

    def _call(self, method: str, path: str, body: Object | None) -> Object:
        response: Object = orjson.loads(self._send(method, path, body))
        return response

    def _send(self, method: str, path: str, body: Object | None) -> bytes:
        response = self.request(method, path, body)
        if response.status >= 300:
            raise _refusal(response, response.data)
        return response.data

    def request(
        self, method: str, path: str, body: Object | None, *, streams: bool = False
    ) -> BaseHTTPResponse:
        """Send one request and return the response, whatever its status. Raises OSError."""
        kind = MERGE_PATCH if method == "PATCH" else "application/json"
        headers = {"User-Agent": self.user_agent, "Accept": "application/json, text/plain"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None
        if body is not None:
            data = orjson.dumps(body)
            headers["Content-Type"] = kind
        timeout = None if streams else PATIENCE
        with _as_os_error():
            return self.pool.urlopen(
                method, path, data, headers,
                retries=False, timeout=timeout, preload_content=not streams,
            )  # fmt: skip


def _pool(server: str, context: ssl.SSLContext) -> HTTPConnectionPool:
    address = urlsplit(server)
    return HTTPSConnectionPool(
        address.hostname or "", address.port, maxsize=THREADS, ssl_context=context
    )


def _lines(response: BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    with _as_os_error():
        for chunk in response.stream():
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except HTTPError as error:
        raise ConnectionError(str(error)) from error


def _refusal(response: BaseHTTPResponse, content: bytes) -> ApiError:
    again = response.headers.get("Retry-After", "")
    words = content[:512].decode(errors="replace")
    return ApiError(response.status, words, float(again) if again.isdigit() else None)
