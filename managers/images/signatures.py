"""Reads the signatures of one image from its registry and verifies them until one is valid.

cosign stores signatures as referrers of the image (OCI 1.1), or under the tag `sha256-<hex>` if the
registry does not support referrers. The older scheme uses the tag `sha256-<hex>.sig`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from contracts.api.cluster.image_verification import ImageVerification
from contracts.api.values.public_key import PublicKey, read_public_key
from contracts.image_reference import ImageReference
from managers.images.cosign import (
    BUNDLE,
    Signed,
    VerificationError,
    as_dict,
    as_list,
    check_bundle,
    check_simple_signing,
    simple_signing_layers,
)
from managers.images.keyless import SignerIdentity, check_keyless_bundle, verifier_of
from managers.images.policy import VerificationRequest
from managers.images.registry import RegistrySession
from managers.images.tlog import check_logged
from managers.images.trust import TrustRoot

# A limit, because every user with push rights may add signatures.
_SIGNATURES_MAX = 16
_OLDER = (
    "signatures of the tag sha256-....sig cannot prove an identity, because they have no inclusion "
    "proof; sign again with cosign 3"
)


@dataclass(frozen=True, slots=True)
class _ByKey:
    """Checks signatures with the key of the policy."""

    key: PublicKey
    root: TrustRoot | None
    """None if the policy requires no transparency log."""

    async def check_bundle(self, bundle: bytes, digest: str) -> None:
        """Check one bundle. Raises VerificationError."""
        self.check_log(check_bundle(bundle, self.key, digest))

    def check_log(self, signed: Signed) -> None:
        """Check the log entry if the policy requires a log. Raises VerificationError."""
        if self.root is not None:
            check_logged(signed, self.root)


@dataclass(frozen=True, slots=True)
class _ByIdentity:
    """Checks signatures with a certificate for the identity of the policy."""

    signer: SignerIdentity
    root: TrustRoot

    async def check_bundle(self, bundle: bytes, digest: str) -> None:
        """Check one bundle. Raises VerificationError."""
        await asyncio.to_thread(check_keyless_bundle, bundle, self.signer, self.root, digest)


async def verify_image(
    registry: RegistrySession,
    reference: ImageReference,
    request: VerificationRequest,
    root: TrustRoot,
) -> str:
    """Return the verified digest. Raises VerificationError, RegistryError or ValueError."""
    check = await _check_of_policy(request.policy, root)
    digest = reference.digest or await _digest_of(registry, reference)
    reasons: list[str] = []
    async for refusal in _attempts(registry, request.reference, digest, check):
        if refusal is None:
            return digest
        reasons.append(str(refusal))
    if not reasons:
        raise VerificationError("it has no signature; sign it with cosign")
    summary = "; ".join(dict.fromkeys(reasons))
    raise VerificationError(f"none of its {len(reasons)} signatures is valid: {summary}")


async def _check_of_policy(policy: ImageVerification, root: TrustRoot) -> _ByKey | _ByIdentity:
    """Return the check that the policy requires. Raises ValueError or VerificationError."""
    if not policy.keyless:
        key = read_public_key(policy.public_key or "")
        return _ByKey(key, None if policy.ignore_tlog else root)
    signer = SignerIdentity.of(policy)
    # Before the first signature is read, so that an invalid trust root is reported in any case.
    await asyncio.to_thread(verifier_of, root)
    return _ByIdentity(signer, root)


async def _digest_of(registry: RegistrySession, reference: ImageReference) -> str:
    manifest = await registry.manifest(reference.tag or "")
    if manifest is None:
        raise VerificationError("the registry has no image with this name and tag")
    return manifest.digest


async def _attempts(
    registry: RegistrySession, reference: str, digest: str, check: _ByKey | _ByIdentity
) -> AsyncIterator[VerificationError | None]:
    """Check the signatures one by one; yield the error of each, None for a valid signature."""
    async for bundle in _bundles(registry, digest):
        try:
            await check.check_bundle(bundle, digest)
        except VerificationError as error:
            yield error
        else:
            yield None
    manifest = await registry.manifest(f"{digest.replace(':', '-')}.sig")
    layers = list(simple_signing_layers(manifest.json()))[:_SIGNATURES_MAX] if manifest else []
    for layer in layers:
        if isinstance(check, _ByIdentity):
            yield VerificationError(_OLDER)
            continue
        payload = await _blob(registry, layer)
        if payload is None:
            continue
        try:
            check.check_log(check_simple_signing(layer, payload, check.key, reference, digest))
        except VerificationError as error:
            yield error
        else:
            yield None


async def _bundles(registry: RegistrySession, digest: str) -> AsyncIterator[bytes]:
    index = await registry.referrers(digest, BUNDLE)
    if index is None:
        index = await registry.manifest(digest.replace(":", "-"))
    if index is None:
        return
    children = [as_dict(child) for child in as_list(index.json().get("manifests"))]
    # A registry may ignore the filter, or not copy the type into the list.
    bundles = [child for child in children if child.get("artifactType") in (BUNDLE, None, "")]
    for child in bundles[:_SIGNATURES_MAX]:
        manifest = await registry.manifest(_digest(child)) if _digest(child) else None
        if manifest is None:
            continue
        for layer in as_list(manifest.json().get("layers"))[:1]:
            bundle = await _blob(registry, as_dict(layer))
            if bundle is not None and as_dict(layer).get("mediaType") == BUNDLE:
                yield bundle


async def _blob(registry: RegistrySession, layer: Mapping[str, Any]) -> bytes | None:
    digest = _digest(layer)
    blob = await registry.blob(digest) if digest else None
    return None if blob is None else blob.body


def _digest(descriptor: Mapping[str, Any]) -> str:
    digest = descriptor.get("digest")
    # It becomes part of a URL, so it must be a digest and nothing else.
    if not isinstance(digest, str):
        return ""
    algorithm, _, value = digest.partition(":")
    valid = algorithm == "sha256" and len(value) == 64 and set(value) <= set("0123456789abcdef")
    return digest if valid else ""
