"""Reads the signatures of one image from its registry and verifies them until one is valid.

Where cosign stores them: as referrers of the image (OCI 1.1), under the tag `sha256-<hex>` where a
registry does not list referrers, and in the older scheme under the tag `sha256-<hex>.sig`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from contracts.api.values.public_key import PublicKey, read_public_key
from contracts.image_reference import ImageReference
from managers.images.cosign import (
    BUNDLE,
    NotProvenError,
    Signed,
    as_dict,
    as_list,
    check_bundle,
    check_simple_signing,
    simple_signing_layers,
)
from managers.images.policy import VerificationRequest
from managers.images.registry import RegistrySession
from managers.images.tlog import TrustRoot, check_logged

# Every user with push rights may add signatures: only so many are read.
_MOST = 16


async def prove(
    registry: RegistrySession,
    reference: ImageReference,
    question: VerificationRequest,
    root: TrustRoot,
) -> str:
    """Return the verified digest. Raises NotProvenError, RegistryError."""
    key = read_public_key(question.policy.public_key or "")
    digest = reference.digest or await _digest_of(registry, reference)
    reasons: list[str] = []
    async for attempt in _signatures(registry, question.reference, digest, key):
        try:
            if isinstance(attempt, NotProvenError):
                raise attempt
            if not question.policy.ignore_tlog:
                check_logged(attempt, root)
        except NotProvenError as error:
            reasons.append(str(error))
        else:
            return digest
    if not reasons:
        raise NotProvenError("it carries no signature; sign it with cosign")
    summary = "; ".join(dict.fromkeys(reasons))
    raise NotProvenError(f"none of its {len(reasons)} signatures counts: {summary}")


async def _digest_of(registry: RegistrySession, reference: ImageReference) -> str:
    manifest = await registry.manifest(reference.tag or "")
    if manifest is None:
        raise NotProvenError("the registry has no image of this name and tag")
    return manifest.digest


async def _signatures(
    registry: RegistrySession, reference: str, digest: str, key: PublicKey
) -> AsyncIterator[Signed | NotProvenError]:
    async for bundle in _bundles(registry, digest):
        try:
            yield check_bundle(bundle, key, digest)
        except NotProvenError as error:
            yield error
    older = await registry.manifest(f"{digest.replace(':', '-')}.sig")
    layers = list(simple_signing_layers(older.json()))[:_MOST] if older else []
    for layer in layers:
        payload = await _blob(registry, layer)
        if payload is None:
            continue
        try:
            yield check_simple_signing(layer, payload, key, reference, digest)
        except NotProvenError as error:
            yield error


async def _bundles(registry: RegistrySession, digest: str) -> AsyncIterator[bytes]:
    listed = await registry.referrers(digest, BUNDLE)
    if listed is None:
        listed = await registry.manifest(digest.replace(":", "-"))
    if listed is None:
        return
    children = [as_dict(one) for one in as_list(listed.json().get("manifests"))]
    # A registry may ignore the filter, or not copy the type into the list.
    bundles = [one for one in children if one.get("artifactType") in (BUNDLE, None, "")]
    for child in bundles[:_MOST]:
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
    # Never use an arbitrary path in one of our requests.
    if not isinstance(digest, str):
        return ""
    algorithm, _, value = digest.partition(":")
    fine = algorithm == "sha256" and len(value) == 64 and set(value) <= set("0123456789abcdef")
    return digest if fine else ""
