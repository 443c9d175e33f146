"""A registry with contents, logins and faults of a test; it counts the requests."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from managers.images.cosign import BUNDLE
from managers.images.registry import INDEX
from tests.managers.images.recorded import base64_of
from tests.managers.images.signing import Signer

BASIC = f"Basic {base64_of(b'reader:open sesame')}"
TOKEN = "a-token"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
Fault = Callable[[web.Request], web.StreamResponse | None]


def digest_of(content: bytes) -> str:
    """The digest of a content."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass
class RegistryServer:
    """The contents of one repository of any name."""

    address: str = ""
    manifests: dict[str, bytes] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    referrers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    lists_referrers: bool = True
    wants: str = ""
    """"", "basic" or "bearer"."""
    fault: Fault | None = None
    gate: asyncio.Event | None = None
    """Every answer waits for it."""
    arrived: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    """Counts the requests that came, for whoever waits for one."""
    paths: list[str] = field(default_factory=list)
    authorized: list[str] = field(default_factory=list)

    def image(self, tag: str, content: str = "one") -> str:
        """Add an image and return its digest."""
        manifest = orjson.dumps({"schemaVersion": 2, "mediaType": _MANIFEST, "note": content})
        digest = self.manifest(manifest)
        self.manifests[tag] = manifest
        return digest

    def manifest(self, content: bytes) -> str:
        """Add a manifest by its digest."""
        digest = digest_of(content)
        self.manifests[digest] = content
        return digest

    def signed(self, signer: Signer, digest: str) -> None:
        """Sign an image in the newer format."""
        self.attach(digest, signer.bundle(digest))

    def attach(self, digest: str, bundle: bytes) -> None:
        """Attach a bundle to an image, to be found by referrers or by the tag."""
        self.blobs[digest_of(bundle)] = bundle
        layer = {"mediaType": BUNDLE, "digest": digest_of(bundle), "size": len(bundle)}
        manifest = orjson.dumps({"layers": [layer], "artifactType": BUNDLE})
        child = {"digest": self.manifest(manifest), "artifactType": BUNDLE}
        listed = [*self.referrers.get(digest, ()), child]
        self.referrers[digest] = listed
        if not self.lists_referrers:
            index = orjson.dumps({"mediaType": INDEX, "manifests": listed})
            self.manifests[digest.replace(":", "-")] = index

    def signed_older(self, layers: list[tuple[dict[str, Any], bytes]], digest: str) -> None:
        """Add signatures of the older format."""
        for layer, payload in layers:
            self.blobs[layer["digest"]] = payload
        manifest = orjson.dumps({"layers": [layer for layer, _ in layers]})
        self.manifests[f"{digest.replace(':', '-')}.sig"] = manifest

    @property
    def requests(self) -> int:
        """The number of requests since the last read of this property."""
        count = len(self.paths)
        self.paths.clear()
        return count

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Respond to one request."""
        self.paths.append(request.path)
        self.authorized.append(request.headers.get("Authorization", ""))
        self.arrived.release()
        if self.gate is not None:
            await self.gate.wait()
        if self.fault is not None and (broken := self.fault(request)) is not None:
            return broken
        if request.path == "/token":
            return self._token(request)
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        kind, _, name = request.path.partition("/v2/")[2].rpartition("/")
        kind = kind.rpartition("/")[2]
        content: bytes | None
        if kind == "referrers":
            known = self.referrers.get(name, []) if self.lists_referrers else None
            content = None if known is None else orjson.dumps({"manifests": known})
        else:
            content = {"manifests": self.manifests, "blobs": self.blobs}[kind].get(name)
        return (
            web.Response(status=404, text="{}") if content is None else web.Response(body=content)
        )

    def _token(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != BASIC:
            return web.Response(status=401)
        return web.json_response({"token": TOKEN, "scope": request.query["scope"]})

    def _refusal(self, request: web.Request) -> web.Response | None:
        authorization = request.headers.get("Authorization", "")
        if self.wants == "basic" and authorization != BASIC:
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="x"'})
        if self.wants == "bearer" and authorization != f"Bearer {TOKEN}":
            challenge = f'Bearer realm="http://{self.address}/token",service="here",scope="x"'
            return web.Response(status=401, headers={"WWW-Authenticate": challenge})
        return None


@asynccontextmanager
async def registry_server(**settings: Any) -> AsyncIterator[RegistryServer]:
    """Serve on loopback."""
    server = RegistryServer(**settings)
    app = web.Application()
    app.router.add_get("/{path:.*}", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.address = f"127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()
