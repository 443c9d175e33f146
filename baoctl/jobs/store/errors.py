"""Messages for errors of a store.

Uses only the error classes of obstore. Called by store.store. The texts of the library hold whole
URLs and response bodies; a message holds a known cause, or the first line without them.
Seen with obstore 0.12.1, minio, moto and azurite.
"""

from __future__ import annotations

import re
from typing import Final

from obstore.exceptions import PermissionDeniedError, UnauthenticatedError

from baoctl.jobs.failures import JobFailure

_CODE = re.compile(r"<Code>([A-Za-z0-9]{1,64})</Code>")
_STATUS = re.compile(r"(?:status(?: code)?|error response)[: (\"]+([1-5][0-9]{2})\b")
_CERTIFICATE = re.compile(r"InvalidCertificate\(\s*(?:Other\(\s*OtherError\(\s*)?([A-Za-z]{1,40})")
# The answer of OAuth (RFC 6749, 5.2).
_GRANT = re.compile(r'"error"\s*:\s*"([a-z_]{1,64})"')
_URI = re.compile(r"https?://[^\s,]+")
_IDENTITY: Final = (
    "Error performing token request",
    # Web identity of AWS: the library hides the URL, which holds the token.
    "performing POST REDACTED",
    "/v1/credentials",
    "http://169.254.",
)
"""What the text of an error has that came while the identity of the pod was asked for."""
_REFUSALS: Final = re.compile(
    r"\b(?:400 Bad Request|401 Unauthorized|403 Forbidden|404 Not Found)\b"
)
_CAUSES: Final = (
    ("InvalidAccessKeyId", "the store does not know the access key"),
    ("SignatureDoesNotMatch", "the secret key is wrong: the signature does not match"),
    ("ExpiredToken", "the credentials have expired"),
    ("AuthenticationFailed", "the store refuses the credentials"),
    ("NoSuchBucket", "there is no such bucket; make it, the operator never does"),
    ("InvalidBucketName", "the store takes no bucket of that name"),
    ("ContainerNotFound", "there is no such container; make it, the operator never does"),
    ("RequestTimeTooSkewed", "the clock of this machine and that of the store differ too much"),
    ("XMinioStorageFull", "the store is full"),
    ("EntityTooLarge", "the store takes no object of that size"),
    ("No space left on device", "the volume is full"),
    ("QuotaExceeded", "the quota of the store is used up"),
    ("Disk quota exceeded", "the quota of the volume is used up"),
    ("Read-only file system", "the volume cannot be written"),
    ("Permission denied (os error 13)", "the volume may not be written by the user of the job"),
    (
        "CaUsedAsEndEntity",
        "the certificate of the store is its own authority; it needs one that an authority signed",
    ),
    ("UnknownIssuer", "nobody that is trusted signed the certificate of the store; set caCert"),
    ("NotValidForName", "the certificate of the store is for another name than its endpoint"),
    ("Expired", "the certificate of the store has expired"),
    ("InvalidCertificate", "the certificate of the store is not valid"),
    ("dns error", "the name of the store is not known"),
    ("Connection refused", "nobody listens at the endpoint of the store"),
    ("unsuccessful tunnel", "the store cannot be reached"),
    ("502 Bad Gateway", "the store cannot be reached"),
    ("operation timed out", "the store did not answer in time"),
    ("connection closed before", "the store closed the connection"),
    ("SlowDown", "the store asks for fewer requests"),
)


def is_missing_bucket(error: FileNotFoundError) -> bool:
    """Whether it is not the object that is missing, but what it would be in."""
    return any(code in str(error) for code in ("NoSuchBucket", "ContainerNotFound"))


def is_unreachable(error: BaseException) -> bool:
    """Whether there was no connection at all; then the proxy knows why."""
    return "kind: Connect" in str(error) or "502 Bad Gateway" in str(error)


def store_failure(what: str, error: BaseException) -> JobFailure:
    """Return the failure that represents an exception of the library; `what` names the object."""
    text = str(error)
    if any(needle in text for needle in _IDENTITY) and _REFUSALS.search(text):
        cause = "the cloud refuses the identity or login that the job shows for a token"
        return JobFailure("Storage", f"{what}: {cause}{_summary(text)}")
    for needle, cause in _CAUSES:
        if needle in text:
            return JobFailure("Storage", f"{what}: {cause}{_summary(text)}")
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return JobFailure("Storage", f"{what}: the store refuses the credentials{_summary(text)}")
    first = _URI.sub("the store", text.partition("\n")[0].partition("<")[0])[:200].rstrip(": ")
    return JobFailure("Storage", f"{what}: {first or type(error).__name__}{_summary(text)}")


def _summary(text: str) -> str:
    parts = [f"certificate: {one[1]}" for one in (_CERTIFICATE.search(text),) if one]
    parts += [f"code {one[1]}" for one in (_CODE.search(text) or _GRANT.search(text),) if one]
    parts += [f"status {one[1]}" for one in (_STATUS.search(text),) if one]
    return f" ({', '.join(parts)})" if parts else ""
