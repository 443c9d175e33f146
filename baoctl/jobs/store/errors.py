"""Converts errors of obstore to messages.

Uses only the error classes of obstore. Called by store.store. The texts of the library contain
whole URLs and response bodies. A message contains a known cause, or the first line without URLs.
Tested with obstore 0.12.1, minio, moto and azurite.
"""

from __future__ import annotations

import re
from typing import Final

from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

from baoctl.jobs.failures import JobFailure

_CODE = re.compile(r"<Code>([A-Za-z0-9]{1,64})</Code>")
_STATUS = re.compile(r"(?:status(?: code)?|error response)[: (\"]+([1-5][0-9]{2})\b")
_CERTIFICATE = re.compile(r"InvalidCertificate\(\s*(?:Other\(\s*OtherError\(\s*)?([A-Za-z]{1,40})")
# The error response of OAuth (RFC 6749, 5.2).
_GRANT = re.compile(r'"error"\s*:\s*"([a-z_]{1,64})"')
_URI = re.compile(r"https?://[^\s,]+")
_IDENTITY: Final = (
    "Error performing token request",
    # Web identity of AWS: the library redacts the URL, which contains the token.
    "performing POST REDACTED",
    "/v1/credentials",
    "http://169.254.",
)
"""Texts of errors that occur when the library requests the identity of the pod."""
_REFUSALS: Final = re.compile(
    r"\b(?:400 Bad Request|401 Unauthorized|403 Forbidden|404 Not Found)\b"
)
_CAUSES: Final = (
    ("InvalidAccessKeyId", "the store does not know the access key"),
    ("SignatureDoesNotMatch", "the secret key is wrong: the signature does not match"),
    ("ExpiredToken", "the credentials have expired"),
    ("AuthenticationFailed", "the store refuses the credentials"),
    ("NoSuchBucket", "the bucket does not exist; create it, the operator does not create buckets"),
    ("InvalidBucketName", "the store refuses the name of the bucket"),
    (
        "ContainerNotFound",
        "the container does not exist; create it, the operator does not create containers",
    ),
    ("RequestTimeTooSkewed", "the clocks of this machine and of the store differ too much"),
    ("InvalidObjectState", "the object is archived; restore it in the store first"),
    ("BlobArchived", "the object is archived; rehydrate it in the store first"),
    ("BlobBeingRehydrated", "the object is archived; wait until it is rehydrated"),
    ("XMinioStorageFull", "the store is full"),
    ("EntityTooLarge", "the store refuses objects of this size"),
    ("No space left on device", "the volume is full"),
    ("QuotaExceeded", "the quota of the store is exceeded"),
    ("Disk quota exceeded", "the quota of the volume is exceeded"),
    ("Read-only file system", "the volume is read-only"),
    ("Permission denied (os error 13)", "the user of the job may not write to the volume"),
    (
        "CaUsedAsEndEntity",
        "the store uses a CA certificate as its server certificate; it needs one that a CA signed",
    ),
    ("UnknownIssuer", "no trusted CA signed the certificate of the store; set caCert"),
    ("NotValidForName", "the certificate of the store is not valid for the name of its endpoint"),
    ("Expired", "the certificate of the store has expired"),
    ("InvalidCertificate", "the certificate of the store is not valid"),
    ("dns error", "the name of the store does not resolve"),
    ("Connection refused", "no server listens at the endpoint of the store"),
    ("unsuccessful tunnel", "the store cannot be reached"),
    ("502 Bad Gateway", "the store cannot be reached"),
    ("operation timed out", "the store did not answer in time"),
    ("connection closed before", "the store closed the connection"),
    ("SlowDown", "the store limits the rate of requests"),
)


def is_missing_bucket(error: FileNotFoundError) -> bool:
    """Return whether the bucket or container is missing, and not the object."""
    return any(code in str(error) for code in ("NoSuchBucket", "ContainerNotFound"))


def is_unreachable(error: BaseException) -> bool:
    """Return whether the connection failed; EgressProxy.last_error then has the cause."""
    return "kind: Connect" in str(error) or "502 Bad Gateway" in str(error)


def store_failure(what: str, error: BaseException) -> JobFailure:
    """Return the failure for an exception of the library. `what` names the object, for messages."""
    text = str(error)
    if any(needle in text for needle in _IDENTITY) and _REFUSALS.search(text):
        cause = "the cloud refuses to issue a token for the identity or login of the job"
        return JobFailure("Storage", f"{what}: {cause}{_summary(text)}")
    for needle, cause in _CAUSES:
        if needle in text:
            return JobFailure("Storage", f"{what}: {cause}{_summary(text)}")
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return JobFailure("Storage", f"{what}: the store refuses the credentials{_summary(text)}")
    first = _URI.sub("the store", text.partition("\n")[0].partition("<")[0])[:200].rstrip(": ")
    return JobFailure("Storage", f"{what}: {first or type(error).__name__}{_summary(text)}")


def _summary(text: str) -> str:
    matches = (
        ("certificate:", _CERTIFICATE.search(text)),
        ("code", _CODE.search(text) or _GRANT.search(text)),
        ("status", _STATUS.search(text)),
    )
    parts = [f"{label} {match[1]}" for label, match in matches if match]
    return f" ({', '.join(parts)})" if parts else ""
