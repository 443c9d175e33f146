"""Reads manifests, small blobs and referrers from a container registry over HTTPS.

Protocol: OCI distribution specification 1.1; token login as the distribution project describes it.
The address comes from the spec of a tenant, so these rules apply: only GET, only https (except for
registries in the operator's own settings), no link-local or loopback address, redirects only for
blobs, no login to other hosts than the registry and its token service, limits for every response
(runtime.limits.http_client), and no text of a response in an error.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from contracts.cloud_metadata import is_metadata
from managers.images.credentials import RegistryLogin
from runtime.limits.http_client import bounded_session, exceeded_limit, read_body
from runtime.limits.nesting import UnreadableError, read_json
from runtime.limits.tls import tls_context

MANIFEST_MAX = 4 * 1024 * 1024
VALUES_MAX = 100_000
"""Maximum number of JSON values of a manifest: enough for thousands of referrers."""
BLOB_MAX = 1024 * 1024
_TOKEN_MAX = 64 * 1024
_TIMEOUT = aiohttp.ClientTimeout(total=5.0, connect=2.0)
_REDIRECTS = 3
_REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
INDEX = "application/vnd.oci.image.index.v1+json"
_MANIFESTS = (
    INDEX,
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Matched at word boundaries only: otherwise the time for a long word is quadratic in its length.
_PARAMETER = re.compile(r'(?<![a-zA-Z_])([a-zA-Z_]+)="([^"]*)"')


class RegistryError(Exception):
    """The registry returned no usable response. The message quotes no text of a response.

    `lasting`: a retry fails again until a user changes something.
    """

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


@dataclass(frozen=True, slots=True)
class RegistryContent:
    """Bytes from a registry, and their actual digest."""

    body: bytes
    digest: str

    def json(self) -> Mapping[str, Any]:
        """Read a manifest. Raises RegistryError."""
        try:
            manifest = read_json(self.body, values=VALUES_MAX)
        except UnreadableError:
            manifest = None
        if not isinstance(manifest, dict):
            raise RegistryError("the registry's response is not a manifest", lasting=True)
        return manifest


class PublicResolver(AbstractResolver):
    """Resolves names, and drops addresses that a registry may not have."""

    def __init__(self, *, loopback: bool) -> None:
        self._inner = aiohttp.ThreadedResolver()
        self._loopback = loopback

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        addresses = await self._inner.resolve(host, port, family)
        allowed = [
            result
            for result in addresses
            if is_allowed_address(result["host"], loopback=self._loopback)
        ]
        if not allowed:
            raise OSError("the name has no allowed address")
        return allowed

    async def close(self) -> None:
        await self._inner.close()


def is_allowed_address(address: str, *, loopback: bool) -> bool:
    """Return whether a registry may have an address: private addresses are allowed.

    Link-local, metadata and reserved addresses are not; `loopback` allows loopback addresses. The
    metadata services of clouds, which provide credentials, have link-local addresses, and in some
    clouds other addresses.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        # Networks translate these to the IPv4 address that they contain.
        if ip.teredo is not None or ip in _NAT64:
            return False
        ip = ip.ipv4_mapped or ip.sixtofour or ip
    if ip.is_loopback:
        return loopback
    if is_metadata(ip):
        return False
    return not (ip.is_link_local or ip.is_multicast or ip.is_unspecified or ip.is_reserved)


class RegistrySession:
    """A session with one registry about one repository. Use as an async context manager."""

    def __init__(
        self, host: str, repository: str, login: RegistryLogin | None, *, insecure: bool
    ) -> None:
        self._origin = f"{'http' if insecure else 'https'}://{host}"
        self._insecure = insecure
        self._repository = repository
        self._login = login
        self._authorization = ""
        self._session = bounded_session(
            _TIMEOUT, tls=tls_context(), limit=4, resolver=PublicResolver(loopback=insecure)
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def manifest(self, reference: str) -> RegistryContent | None:
        """Read a manifest by tag or digest; None if it does not exist.

        Raises RegistryError, also if content that is requested by digest has another digest.
        """
        path = f"/v2/{self._repository}/manifests/{reference}"
        content = await self._get(path, ", ".join(_MANIFESTS), MANIFEST_MAX)
        return None if content is None else _verify_digest(content, reference)

    async def referrers(self, digest: str, kind: str) -> RegistryContent | None:
        """List the referrers of a manifest; None if the registry does not support referrers."""
        path = f"/v2/{self._repository}/referrers/{digest}?artifactType={kind.replace('+', '%2B')}"
        return await self._get(path, INDEX, MANIFEST_MAX)

    async def blob(self, digest: str) -> RegistryContent | None:
        """Read a small blob; None if it does not exist. Raises RegistryError."""
        path = f"/v2/{self._repository}/blobs/{digest}"
        content = await self._get(path, "*/*", BLOB_MAX, redirects=_REDIRECTS)
        return None if content is None else _verify_digest(content, digest)

    async def _get(
        self, path: str, accept: str, limit: int, *, redirects: int = 0
    ) -> RegistryContent | None:
        url = f"{self._origin}{path}"
        status, headers, body = await self._request(url, accept, limit, self._authorization)
        if status == 401 and not self._authorization:
            self._authorization = await self._authorize(headers.get("WWW-Authenticate", ""))
            status, headers, body = await self._request(url, accept, limit, self._authorization)
        for _ in range(redirects):
            if status not in _REDIRECT_STATUSES:
                break
            url = _redirect_url(url, headers.get("Location", ""))
            # No login: the URL may be a presigned one of the store behind the registry.
            status, headers, body = await self._request(url, accept, limit, "")
        if status == 404:
            return None
        if status in (401, 403):
            raise RegistryError(
                f"the registry denies access (HTTP {status}); name a pull secret with a login",
                lasting=True,
            )
        if status != 200:
            raise RegistryError(f"the registry returned HTTP {status}")
        return RegistryContent(body, f"sha256:{hashlib.sha256(body).hexdigest()}")

    async def _authorize(self, challenge: str) -> str:
        """Return the Authorization header for a challenge (RFC 9110, 11.6.1); "" without one."""
        scheme, _, rest = challenge.partition(" ")
        if scheme.lower() == "basic":
            return self._login.basic() if self._login else ""
        if scheme.lower() != "bearer":
            return ""
        parameters = dict(_PARAMETER.findall(rest))
        # The operator chooses the scope: this repository, read-only.
        query = {"scope": f"repository:{self._repository}:pull"}
        if parameters.get("service"):
            query["service"] = parameters["service"]
        try:
            url = str(URL(parameters.get("realm", "")).update_query(query))
        except ValueError:
            raise RegistryError("the registry names no usable token service") from None
        basic = self._login.basic() if self._login else ""
        status, _, body = await self._request(url, "application/json", _TOKEN_MAX, basic)
        if status in (400, 401, 403):
            raise RegistryError(
                f"the registry's token service refuses the login (HTTP {status})", lasting=True
            )
        try:
            response = read_json(body) if status == 200 else None
        except UnreadableError:
            response = None
        fields = response if isinstance(response, dict) else {}
        token = fields.get("token") or fields.get("access_token")
        if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]+", token):
            raise RegistryError("the registry's token service returned no token")
        return f"Bearer {token}"

    async def _request(
        self, url: str, accept: str, limit: int, authorization: str
    ) -> tuple[int, Mapping[str, str], bytes]:
        self._check_address(url)
        headers = {"Accept": accept}
        if authorization:
            headers["Authorization"] = authorization
        try:
            async with self._session.get(
                URL(url, encoded=True), headers=headers, allow_redirects=False
            ) as response:
                body = await read_body(response, limit)
                return response.status, dict(response.headers), body
        except UnreadableError:
            raise RegistryError(
                f"the registry's response is longer than the limit of {limit} bytes", lasting=True
            ) from None
        except aiohttp.ClientError as error:
            exceeded = exceeded_limit(error)
            if exceeded is None:
                raise _unreachable(error) from error
            raise RegistryError(f"the registry's response is {exceeded}") from None
        except (OSError, ValueError) as error:
            raise _unreachable(error) from error

    def _check_address(self, url: str) -> None:
        """Check a URL of the spec or of the registry. Raises RegistryError if it is not allowed."""
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
            plain = parts.scheme == "http" and self._insecure
        except ValueError:
            raise RegistryError("the registry refers to an invalid URL") from None
        if (parts.scheme != "https" and not plain) or not host or parts.username:
            raise RegistryError("the registry refers to a URL without https", lasting=True)
        try:
            allowed = is_allowed_address(host, loopback=self._insecure)
        except ValueError:
            # A name: the resolver checks the addresses.
            return
        if not allowed:
            raise RegistryError(
                "the registry's address is not allowed: it is a loopback, link-local, metadata or "
                "reserved address",
                lasting=True,
            )


def _redirect_url(url: str, location: str) -> str:
    try:
        return str(URL(url).join(URL(location)))
    except ValueError:
        raise RegistryError("the registry refers to an invalid URL") from None


def _unreachable(error: Exception) -> RegistryError:
    # Only the class: the text of some of these errors contains the whole request.
    return RegistryError(f"the registry cannot be reached: {type(error).__name__}")


def _verify_digest(content: RegistryContent, reference: str) -> RegistryContent:
    if reference.startswith("sha256:") and content.digest != reference:
        raise RegistryError("the registry's response does not have the requested digest")
    return content
