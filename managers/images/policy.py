"""Verification requests for images, the cache key of a verdict, and its record as an annotation.

Pure. The cache key is a hash of all inputs of the verdict: reference, key, identity, whether a
transparency log is required, and the trust root. Pull secrets are not part of it: they determine
whether the operator can read the registry, not whether a signature is valid.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import orjson

from contracts import image_reference
from contracts.api.cluster.image_verification import ImageVerification
from contracts.api.cluster.spec import ClusterSpec
from contracts.records.observed import ImageVerdict

_SCHEME = 1


@dataclass(frozen=True, slots=True)
class VerificationRequest:
    """One image of one cluster, and the required signer."""

    namespace: str
    reference: str
    policy: ImageVerification
    pull_secrets: tuple[str, ...]
    """Names of Secrets in the namespace, in the order of use."""


def server_image(spec: ClusterSpec, repository: str) -> str:
    """Return the reference of the server image, before its verification.

    An image without tag and digest gets the version as its tag: a container runtime would use
    `latest`, which may be any version.
    """
    return image_named(spec.version, spec.image or "", repository)


def image_named(version: str, image: str, repository: str) -> str:
    """Return the reference for a version and an image; "" is the default image."""
    tag = version.removeprefix("v").replace("+", "_")
    if not image:
        return f"{repository}:{tag}"
    try:
        reference = image_reference.parse(image)
    except ValueError:
        return image
    return f"{image}:{tag}" if (reference.tag or reference.digest) is None else image


def server_image_request(
    spec: ClusterSpec, namespace: str, repository: str
) -> VerificationRequest | None:
    """Return the request for the server image; None when it needs no verification."""
    return _request(spec, spec.image_verification, namespace, server_image(spec, repository))


def operator_image_request(
    spec: ClusterSpec, namespace: str, operator_image: str
) -> VerificationRequest | None:
    """Return the request for the operator's own image, which runs in server pods to reload them."""
    if not operator_image:
        return None
    return _request(spec, spec.operator_image_verification, namespace, operator_image)


def _request(
    spec: ClusterSpec, policy: ImageVerification | None, namespace: str, reference: str
) -> VerificationRequest | None:
    if policy is None or not policy.enabled:
        return None
    references = (*policy.image_pull_secrets, *spec.image_pull_secrets)
    secrets = tuple(dict.fromkeys(secret.name for secret in references))
    return VerificationRequest(namespace, reference, policy, secrets)


def cache_key(request: VerificationRequest, trust_root: str) -> str:
    """Return the cache key of a request: 64 hexadecimal digits. `trust_root` is a hash itself."""
    policy = request.policy
    parts = (
        _SCHEME,
        request.reference,
        policy.public_key,
        policy.issuer,
        policy.subject,
        policy.issuer_reg_exp,
        policy.subject_reg_exp,
        policy.ignore_tlog,
        trust_root,
    )
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()


def record(key: str, pinned: str) -> str:
    """Return a verdict as an annotation of a StatefulSet."""
    return f"{key} {pinned}"


def read_verdict(request: VerificationRequest, key: str, text: str) -> ImageVerdict | None:
    """Read an annotation; None when it is for another request, or has another format."""
    annotation_key, _, pinned = text.partition(" ")
    if annotation_key != key:
        return None
    try:
        requested = image_reference.parse(request.reference)
        image = image_reference.parse(pinned)
    except ValueError:
        return None
    if image.digest is None or image.name != requested.name:
        return None
    if requested.digest is not None and requested.digest != image.digest:
        return None
    return ImageVerdict(request.reference, pinned=pinned, record=text)
