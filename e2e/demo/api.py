"""The Kubernetes API as JSON, through a `kubectl proxy` on a unix socket.

One child process serves all requests of a demo, independent of the login of the kubeconfig; the
socket is in a directory that only the user can open.
"""

import http.client
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import orjson

from e2e.demo.errors import DemoError
from e2e.demo.kubectl import Kubectl, end
from e2e.demo.objects import Object

FIELD_MANAGER = "openbao-demo"
METADATA_ONLY = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
METADATA_LIST = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
_JSON = {"Accept": "application/json"}


class ApiError(Exception):
    """A response other than 2xx: HTTP status code and message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout: float | None) -> None:
        # The proxy rejects every other Host.
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


class Api:
    """Requests to one API server, each on a new connection. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, path: str, headers: Mapping[str, str] = _JSON) -> Object:
        """GET a JSON document. Raises ApiError, OSError."""
        document: Object = orjson.loads(self._send("GET", path, headers=headers))
        return document

    def find(self, path: str) -> Object | None:
        """GET a JSON document; None if it does not exist. Raises ApiError, OSError."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    def text(self, path: str) -> str:
        """GET a plain text. Raises ApiError, OSError."""
        return self._send("GET", path, headers={"Accept": "*/*"}).decode(errors="replace")

    def items(self, path: str) -> list[Object]:
        """GET the items of a list. Raises ApiError, OSError."""
        items: list[Object] | None = self.get(path)["items"]
        return items or []

    def apply(self, path: str, body: Object) -> Object:
        """Apply an object server-side, forcing conflicts. Raises ApiError, OSError."""
        query = f"{path}?fieldManager={FIELD_MANAGER}&force=true"
        headers = {"Content-Type": "application/apply-patch+yaml"}
        document: Object = orjson.loads(self._send("PATCH", query, orjson.dumps(body), headers))
        return document

    def watch(self, path: str, version: str, headers: Mapping[str, str] = _JSON) -> Iterator[bytes]:
        """Yield the lines of a watch until the server ends it. Raises ApiError, OSError."""
        connection = _UnixConnection(self._path, None)
        try:
            query = f"{path}?watch=1&allowWatchBookmarks=true&resourceVersion={version}"
            connection.request("GET", query, headers=dict(headers))
            response = connection.getresponse()
            if response.status != 200:
                raise ApiError(response.status, response.read(512).decode(errors="replace"))
            while line := response.readline():
                yield line
        finally:
            connection.close()

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] = _JSON,
    ) -> bytes:
        connection = _UnixConnection(self._path, 15.0)
        try:
            connection.request(method, path, body=body, headers=dict(headers))
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if response.status >= 300:
            raise ApiError(response.status, content[:512].decode(errors="replace"))
        return content


@contextmanager
def connect(kubectl: Kubectl, deadline: float = 20.0) -> Iterator[Api]:
    """Serve the API during the context. Raises DemoError if it is not available."""
    with tempfile.TemporaryDirectory(prefix="openbao-demo-") as folder:
        path = Path(folder) / "api.sock"
        proxy = kubectl.start("proxy", f"--unix-socket={path}")
        api = Api(path)
        try:
            until = time.monotonic() + deadline
            while (refusal := _refusal(api)) is not None:
                if proxy.poll() is not None:
                    output = proxy.stdout.read().strip() if proxy.stdout else ""
                    raise DemoError(f"kubectl proxy ended: {output}")
                if time.monotonic() > until:
                    raise DemoError(f"the API server does not respond: {refusal}")
                time.sleep(0.05)
            yield api
        finally:
            end(proxy)


def _refusal(api: Api) -> str | None:
    try:
        api.get("/api")
    except (OSError, ApiError, http.client.HTTPException) as error:
        return str(error)
    return None
