"""Small clients of object stores, one per protocol, with their own request signing.

Does not use the library of the product, so that tests check its results independently. S3
signature version 4 (also for the GCS of moto, which ignores signatures) and Shared Key of Azure
Blob. Blocking; raises StoreError with the error of the store.
"""

import base64
import hashlib
import hmac
import http.client
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import unescape
from typing import Protocol
from urllib.parse import quote, urlencode, urlsplit

Query = Mapping[str, str]
_UNSIGNED = "UNSIGNED-PAYLOAD"
_AZURE_VERSION = "2023-11-03"
_SECONDS = 20.0


class StoreError(Exception):
    """An error response of a store: HTTP status and the start of the body."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(f"{status}: {words[:500]}")
        self.status = status


class Objects(Protocol):
    """The objects of a store, by bucket and key."""

    def make_bucket(self, bucket: str) -> None:
        """Create a bucket, if it does not exist."""
        ...

    def keys(self, bucket: str, prefix: str = "") -> list[str]:
        """Return the keys that begin with the prefix, sorted."""
        ...

    def pending(self, bucket: str) -> list[str]:
        """Return the keys of incomplete multipart uploads."""
        ...

    def read(self, bucket: str, key: str) -> bytes:
        """Read a whole object."""
        ...

    def write(self, bucket: str, key: str, content: bytes) -> None:
        """Write an object, replacing an existing one."""
        ...

    def delete(self, bucket: str, key: str) -> None:
        """Delete an object."""
        ...


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A URL, and the CA of its certificate."""

    url: str
    authority: bytes = b""
    """PEM; empty for plain http."""

    @property
    def host(self) -> str:
        """Host and port, as in the Host header."""
        return urlsplit(self.url).netloc

    def send(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> bytes:
        """Send one request on a new connection and return the body of the response."""
        connection = self._connect()
        try:
            connection.request(method, target, body=body, headers=dict(headers))
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise StoreError(answer.status, content.decode(errors="replace"))
        return content

    def _connect(self) -> http.client.HTTPConnection:
        if not self.authority:
            return http.client.HTTPConnection(self.host, timeout=_SECONDS)
        context = ssl.create_default_context(cadata=self.authority.decode())
        return http.client.HTTPSConnection(self.host, timeout=_SECONDS, context=context)


@dataclass(frozen=True, slots=True)
class S3Objects:
    """Signature version 4, path style, one region."""

    endpoint: Endpoint
    user: str
    password: str = field(repr=False)
    region: str = "us-east-1"

    def make_bucket(self, bucket: str) -> None:
        """Create a bucket, if it does not exist."""
        try:
            self._call("PUT", f"/{bucket}")
        except StoreError as error:
            if error.status != 409:
                raise

    def keys(self, bucket: str, prefix: str = "") -> list[str]:
        """Return the keys that begin with the prefix, page by page."""
        keys: list[str] = []
        query = {"list-type": "2", "prefix": prefix}
        while True:
            page = self._call("GET", f"/{bucket}", query).decode()
            keys += _texts(page, "Key")
            following = _texts(page, "NextContinuationToken")
            if not following:
                return sorted(keys)
            query["continuation-token"] = following[0]

    def pending(self, bucket: str) -> list[str]:
        """Return the keys of incomplete multipart uploads."""
        return sorted(_texts(self._call("GET", f"/{bucket}", {"uploads": ""}).decode(), "Key"))

    def read(self, bucket: str, key: str) -> bytes:
        """Read a whole object."""
        return self._call("GET", f"/{bucket}/{key}")

    def write(self, bucket: str, key: str, content: bytes) -> None:
        """Write an object, replacing an existing one."""
        self._call("PUT", f"/{bucket}/{key}", body=content)

    def delete(self, bucket: str, key: str) -> None:
        """Delete an object."""
        self._call("DELETE", f"/{bucket}/{key}")

    def _call(self, method: str, path: str, query: Query | None = None, body: bytes = b"") -> bytes:
        path = quote(path)
        text = urlencode(sorted((query or {}).items()), quote_via=quote, safe="")
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        headers = {"host": self.endpoint.host, "x-amz-content-sha256": _UNSIGNED}
        headers["x-amz-date"] = stamp
        names = ";".join(sorted(headers))
        lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
        request = "\n".join((method, path, text, lines, names, _UNSIGNED))
        scope = f"{stamp[:8]}/{self.region}/s3/aws4_request"
        digest = hashlib.sha256(request.encode()).hexdigest()
        signed = _hmac(self._key(stamp[:8]), f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{digest}").hex()
        headers["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={self.user}/{scope}, "
            f"SignedHeaders={names}, Signature={signed}"
        )
        target = f"{path}?{text}" if text else path
        return self.endpoint.send(method, target, headers, body)

    def _key(self, day: str) -> bytes:
        key = f"AWS4{self.password}".encode()
        for part in (day, self.region, "s3", "aws4_request"):
            key = _hmac(key, part)
        return key


@dataclass(frozen=True, slots=True)
class AzureObjects:
    """Shared Key, with the account in the path, as in emulators. Buckets are containers."""

    endpoint: Endpoint
    account: str
    key: str = field(repr=False)

    def make_bucket(self, bucket: str) -> None:
        """Create a container, if it does not exist."""
        try:
            self._call("PUT", f"/{bucket}", {"restype": "container"})
        except StoreError as error:
            if error.status != 409:
                raise

    def keys(self, bucket: str, prefix: str = "") -> list[str]:
        """Return the names of blobs that begin with the prefix, page by page."""
        return self._list(bucket, {"prefix": prefix})

    def pending(self, bucket: str) -> list[str]:
        """Return the names of blobs with uncommitted blocks only."""
        whole = set(self.keys(bucket))
        return [name for name in self._list(bucket, {"include": "uncommittedblobs"})
                if name not in whole]  # fmt: skip

    def read(self, bucket: str, key: str) -> bytes:
        """Read a whole blob."""
        return self._call("GET", f"/{bucket}/{key}")

    def write(self, bucket: str, key: str, content: bytes) -> None:
        """Write a blob, replacing an existing one."""
        kind = {"x-ms-blob-type": "BlockBlob"}
        self._call("PUT", f"/{bucket}/{key}", body=content, headers=kind)

    def delete(self, bucket: str, key: str) -> None:
        """Delete a blob."""
        self._call("DELETE", f"/{bucket}/{key}")

    def _list(self, bucket: str, parameters: Query) -> list[str]:
        names: list[str] = []
        query = {"restype": "container", "comp": "list", **parameters}
        while True:
            page = self._call("GET", f"/{bucket}", query).decode()
            names += _texts(page, "Name")
            following = _texts(page, "NextMarker")
            if not following:
                return sorted(names)
            query["marker"] = following[0]

    def _call(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        path = f"/{self.account}{quote(path)}"
        query = query or {}
        own = {
            "x-ms-date": datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT"),
            "x-ms-version": _AZURE_VERSION,
            **(headers or {}),
        }
        names = "".join(f"{name}:{own[name]}\n" for name in sorted(own))
        resource = f"/{self.account}{path}"
        resource += "".join(f"\n{name}:{query[name]}" for name in sorted(query))
        # Between verb and headers: encoding, language, length, MD5, type, date, conditions, range.
        length = str(len(body)) if body else ""
        text = f"{method}\n\n\n{length}\n\n\n\n\n\n\n\n\n{names}{resource}"
        signed = base64.b64encode(_hmac(base64.b64decode(self.key), text)).decode()
        own["Authorization"] = f"SharedKey {self.account}:{signed}"
        target = f"{path}?{urlencode(query, quote_via=quote)}" if query else path
        return self.endpoint.send(method, target, own, body)


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _texts(page: str, tag: str) -> list[str]:
    """Return the texts of all elements of this name; the lists of both protocols are flat."""
    return [unescape(text) for text in re.findall(rf"<{tag}>([^<]+)</{tag}>", page)]
