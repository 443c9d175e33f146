"""managers.images.signatures: images signed with an identity, from the registry to the verdict."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from contracts.records.observed import ImageVerdict
from managers.images.policy import VerificationRequest
from managers.images.tlog import read_trust_root
from managers.images.trust import EMPTY_TRUST_ROOT, Trust, TrustRoot
from managers.images.verifier import ImageVerifier
from tests.managers.images.bench import Bench, bench
from tests.managers.images.sigstore_services import ISSUER, SUBJECT, KeylessSigner


@dataclass
class Keyless:
    """The same registry, and a signer with an identity."""

    bench: Bench
    signer: KeylessSigner
    root: TrustRoot

    def question(self, **policy: object) -> VerificationRequest:
        identity: dict[str, Any] = {
            "publicKey": None,
            "ignoreTlog": False,
            "issuer": ISSUER,
            "subject": SUBJECT,
        }
        return self.bench.question(**{**identity, **policy})

    def attach(self, digest: str, signer: KeylessSigner | None = None) -> None:
        self.bench.server.attach(digest, (signer or self.signer).bundle(digest))

    async def ask(self, **policy: object) -> ImageVerdict:
        """Verify without the cache."""
        trust = Trust(frozenset({self.bench.server.address}), self.root)
        verifier = ImageVerifier(self.bench.api, self.bench.clock, trust)
        return await verifier.verdict(self.question(**policy))


@asynccontextmanager
async def keyless(**settings: object) -> AsyncIterator[Keyless]:
    async with bench(**settings) as here:
        signer = KeylessSigner()
        yield Keyless(here, signer, read_trust_root(signer.trusted_root()))


@pytest.mark.parametrize("lists", [True, False])
async def test_an_image_signed_with_an_identity_is_pinned(lists: bool) -> None:
    async with keyless(lists_referrers=lists) as here:
        digest = here.bench.server.image("2.4.0")
        here.attach(digest, KeylessSigner())
        here.bench.server.signed(here.bench.signer, digest)
        refused = await here.ask()
        assert refused.problem == "unverified"
        assert "none of its 2 signatures is valid" in refused.message
        assert "the certificate is not from an authority" in refused.message
        assert "made with a key" in refused.message
        here.attach(digest)
        assert (await here.ask()).pinned.endswith(f"@{digest}")
        pattern = {"issuer": None, "subject": None, "issuerRegExp": ".", "subjectRegExp": "@refs/t"}
        assert (await here.ask(**pattern)).pinned.endswith(f"@{digest}")
        other = await here.ask(subject="somebody")
        assert (other.problem, other.pinned) == ("unverified", "")
        assert "the certificate names another subject" in other.message
        assert SUBJECT not in other.message


async def test_a_simple_signature_has_no_identity_and_is_not_fetched() -> None:
    async with keyless() as here:
        digest = here.bench.server.image("2.4.0")
        repository = f"{here.bench.server.address}/team/openbao"
        here.bench.server.signed_older([here.bench.signer.older(repository, digest)], digest)
        refused = await here.ask()
        assert "sign again with cosign 3" in refused.message
        assert not [path for path in here.bench.server.paths if "/blobs/" in path]


async def test_without_a_trust_root_the_registry_is_not_contacted() -> None:
    async with keyless() as here:
        here.attach(here.bench.server.image("2.4.0"))
        here.root = EMPTY_TRUST_ROOT
        refused = await here.ask()
        assert refused.problem == "unverified"
        assert "SIGSTORE_TRUSTED_ROOT" in refused.message
        here.root = read_trust_root(here.signer.trusted_root(certificateAuthorities=[]))
        assert "must name certificate authorities" in (await here.ask()).message
        here.root = read_trust_root(here.signer.trusted_root())
        broken = {"issuer": None, "subject": None, "issuerRegExp": "(", "subjectRegExp": "."}
        assert "the policy cannot be used" in (await here.ask(**broken)).message
        assert here.bench.server.requests == 0
        assert (await here.ask()).pinned
