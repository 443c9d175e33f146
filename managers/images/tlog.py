"""Checks that a transparency log promised to publish a signature. Pure.

The promise is the signed entry timestamp of Rekor v1. It is checked offline with the keys of a
Sigstore trusted root (trusted_root.json, media type
application/vnd.dev.sigstore.trustedroot+json). An entry with only an inclusion proof (Rekor v2) is
not supported.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from contracts.api.values.public_key import read_public_key
from managers.images.cosign import (
    Signed,
    VerificationError,
    as_dict,
    as_list,
    read_json,
    unbase64,
    verify,
)
from managers.images.trust import LogKey, TrustRoot

_UNREADABLE = "the log entry cannot be read"


def read_trust_root(content: bytes) -> TrustRoot:
    """Read trusted_root.json, a file of the operator. Raises ValueError with the reason."""
    logs: dict[str, LogKey] = {}
    entries = as_list(as_dict(read_json(content)).get("tlogs"))
    for entry in entries:
        log, key = as_dict(entry), as_dict(as_dict(entry).get("publicKey"))
        if key.get("keyDetails") == "PKIX_ED25519":
            # A key of Rekor v2, whose entries have no promise.
            continue
        log_id = unbase64(as_dict(log.get("logId")).get("keyId")).hex()
        lines = base64.encodebytes(unbase64(key.get("rawBytes"))).decode()
        pem = f"-----BEGIN PUBLIC KEY-----\n{lines}-----END PUBLIC KEY-----\n"
        valid = as_dict(key.get("validFor"))
        start = _parse_time(valid.get("start")) or datetime.min.replace(tzinfo=UTC)
        end = _parse_time(valid.get("end")) or datetime.max.replace(tzinfo=UTC)
        logs[log_id] = LogKey(read_public_key(pem), start, end)
    if not entries:
        raise ValueError("it names no transparency log")
    return TrustRoot(logs, hashlib.sha256(content).hexdigest(), content)


def _parse_time(text: Any) -> datetime | None:
    return datetime.fromisoformat(text) if isinstance(text, str) and text else None


def check_logged(signed: Signed, root: TrustRoot) -> None:
    """Check that a log entry contains a promise for this signature. Raises VerificationError."""
    if not signed.log_entries:
        raise VerificationError(
            "the signature is not in a transparency log; sign with one, or set ignoreTlog to true"
        )
    if not root.logs:
        raise VerificationError(
            "the operator has no transparency log; set ignoreTlog to true, or give the operator "
            "a trusted_root.json"
        )
    reasons = []
    for entry in signed.log_entries:
        try:
            _check(_Promise.of(entry), signed, root)
        except VerificationError as error:
            reasons.append(str(error))
        else:
            return
    raise VerificationError(reasons[0])


@dataclass(frozen=True, slots=True)
class _Promise:
    body: str
    time: int
    index: int
    log: str
    signature: bytes

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> _Promise:
        """Read an entry in cosign's own format, or a tlogEntry of a bundle."""
        payload = as_dict(entry.get("Payload"))
        try:
            if payload:
                signature = unbase64(entry.get("SignedEntryTimestamp"))
                return cls(
                    _text(payload["body"]),
                    int(payload["integratedTime"]),
                    int(payload["logIndex"]),
                    _text(payload["logID"]),
                    signature,
                )
            promise = as_dict(entry.get("inclusionPromise"))
            if not promise:
                raise VerificationError("the log entry has no signed timestamp (Rekor v1)")
            return cls(
                _text(entry["canonicalizedBody"]),
                int(entry["integratedTime"]),
                int(entry["logIndex"]),
                unbase64(as_dict(entry["logId"]).get("keyId")).hex(),
                unbase64(promise.get("signedEntryTimestamp")),
            )
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, VerificationError):
                raise
            raise VerificationError(_UNREADABLE) from None

    def signed_text(self) -> bytes:
        """Return the bytes that the log signs: canonical JSON (RFC 8785).

        For these values sorted keys suffice. Raises VerificationError for numbers of more than 64
        bits, which no log writes.
        """
        try:
            return orjson.dumps(
                {
                    "body": self.body,
                    "integratedTime": self.time,
                    "logID": self.log,
                    "logIndex": self.index,
                },
                option=orjson.OPT_SORT_KEYS,
            )
        except TypeError:
            raise VerificationError(_UNREADABLE) from None


def _text(value: Any) -> str:
    """Return a string; "" for another value, which could be nested to any depth."""
    return value if isinstance(value, str) else ""


def _check(promise: _Promise, signed: Signed, root: TrustRoot) -> None:
    log = root.logs.get(promise.log)
    if log is None:
        raise VerificationError("the log entry is from a log that the operator does not trust")
    try:
        time = datetime.fromtimestamp(promise.time, UTC)
    except (OverflowError, OSError, ValueError):
        raise VerificationError("the log entry has no time") from None
    if not log.start <= time <= log.end:
        raise VerificationError(
            "the log entry was made outside the validity period of the log's key"
        )
    text = promise.signed_text()
    try:
        verify(log.key, promise.signature, text)
    except VerificationError:
        raise VerificationError("the log entry was not signed by the log") from None
    _check_subject(as_dict(read_json(unbase64(promise.body))), signed)


def _check_subject(body: Mapping[str, Any], signed: Signed) -> None:
    spec = as_dict(body.get("spec"))
    if body.get("kind") == "hashedrekord":
        digest = as_dict(as_dict(spec.get("data")).get("hash"))
        signatures = [as_dict(spec.get("signature")).get("content")]
    elif body.get("kind") == "dsse":
        digest = as_dict(spec.get("payloadHash"))
        signatures = [as_dict(item).get("signature") for item in as_list(spec.get("signatures"))]
    else:
        raise VerificationError("the log entry is of a kind that the operator does not support")
    matches = digest.get("algorithm") == "sha256"
    matches = matches and digest.get("value") == hashlib.sha256(signed.content).hexdigest()
    if not matches or base64.b64encode(signed.signature).decode() not in signatures:
        raise VerificationError("the log entry is for another signature")
