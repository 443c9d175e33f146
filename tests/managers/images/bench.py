"""A registry, a verifier and a signer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from contracts.api.cluster.image_verification import ImageVerification
from contracts.records.observed import ImageVerdict
from managers.images.policy import VerificationRequest
from managers.images.trust import Trust
from managers.images.verifier import ImageVerifier
from runtime.testing.clock import ManualClock
from tests.gen.api import FakeApi
from tests.managers.images.registry_server import RegistryServer, registry_server
from tests.managers.images.signing import Signer


@dataclass
class Bench:
    """A registry, a verifier and a signer."""

    server: RegistryServer
    signer: Signer
    clock: ManualClock
    api: FakeApi
    verifier: ImageVerifier

    def question(self, tag: str = "2.4.0", **policy: object) -> VerificationRequest:
        expected = {"enabled": True, "publicKey": self.signer.public_key, "ignoreTlog": True}
        return VerificationRequest(
            "shop",
            f"{self.server.address}/team/openbao:{tag}",
            ImageVerification.model_validate({**expected, **policy}),
            (),
        )

    def signed_image(self, tag: str = "2.4.0", content: str = "one") -> str:
        digest = self.server.image(tag, content)
        self.server.signed(self.signer, digest)
        return digest

    async def ask(self, tag: str = "2.4.0") -> ImageVerdict:
        return await self.verifier.verdict(self.question(tag))


@asynccontextmanager
async def bench(**settings: object) -> AsyncIterator[Bench]:
    async with registry_server(**settings) as server:
        clock, api = ManualClock(), FakeApi()
        trust = Trust(insecure_registries=frozenset({server.address}))
        yield Bench(server, Signer(), clock, api, ImageVerifier(api, clock, trust))
