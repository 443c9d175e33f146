"""managers.images.tlog: a log entry is accepted only from its log and for its signature."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
import pytest

from contracts.api.values.public_key import read_public_key
from managers.images.cosign import Signed, VerificationError, check_bundle, check_simple_signing
from managers.images.tlog import check_logged, read_trust_root
from managers.images.trust import EMPTY_TRUST_ROOT, TrustRoot
from tests.managers.images import sigstore_services
from tests.managers.images.recorded import base64_of
from tests.managers.images.signing import Signer
from tests.runtime.pouring import nested_json

TIME = 1_800_000_000
DIGEST = "sha256:" + "a" * 64


class Log(sigstore_services.Log):
    """A transparency log of the kind Rekor v1."""

    def root(self, **valid: str) -> bytes:
        """A trusted_root.json with this log in it."""
        return orjson.dumps({"tlogs": [self.instance(**valid)], "certificateAuthorities": []})

    def promise(self, body: dict[str, Any]) -> dict[str, Any]:
        """A signed entry in the older format."""
        entry = {
            "body": base64_of(orjson.dumps(body)),
            "integratedTime": TIME,
            "logID": self.id.hex(),
            "logIndex": 7,
        }
        signature = self.sign(orjson.dumps(entry, option=orjson.OPT_SORT_KEYS))
        return {"SignedEntryTimestamp": base64_of(signature), "Payload": entry}

    def tlog_entry(self, body: dict[str, Any]) -> dict[str, Any]:
        """The same in the format of a bundle."""
        obj = self.promise(body)
        return {
            "logIndex": "7",
            "logId": {"keyId": base64_of(self.id)},
            "integratedTime": str(TIME),
            "inclusionPromise": {"signedEntryTimestamp": obj["SignedEntryTimestamp"]},
            "canonicalizedBody": obj["Payload"]["body"],
        }


def hashed_entry(signed: Signed) -> dict[str, Any]:
    """The entry of cosign in the older format."""
    digest = {"algorithm": "sha256", "value": hashlib.sha256(signed.content).hexdigest()}
    signature = {"content": base64_of(signed.signature), "publicKey": {"content": "x"}}
    return {
        "apiVersion": "0.0.1",
        "kind": "hashedrekord",
        "spec": {"data": {"hash": digest}, "signature": signature},
    }


def dsse(signed: Signed) -> dict[str, Any]:
    """The entry of cosign for a bundle."""
    digest = {"algorithm": "sha256", "value": hashlib.sha256(signed.content).hexdigest()}
    signatures = [{"signature": base64_of(signed.signature), "verifier": "x"}]
    return {
        "apiVersion": "0.0.1",
        "kind": "dsse",
        "spec": {"payloadHash": digest, "signatures": signatures},
    }


LOG = Log()
ROOT = read_trust_root(LOG.root())
SIGNED = Signed(b"a document", b"a signature")


def with_entry(*entries: dict[str, Any]) -> Signed:
    return Signed(SIGNED.content, SIGNED.signature, entries)


def test_entries_of_both_formats_are_accepted() -> None:
    check_logged(with_entry(LOG.promise(hashed_entry(SIGNED))), ROOT)
    check_logged(with_entry(LOG.tlog_entry(dsse(SIGNED))), ROOT)


def test_both_signature_formats_of_cosign_contain_the_entry() -> None:
    signer = Signer()
    key = read_public_key(signer.public_key)
    _, payload = signer.older("registry.example.com/x", DIGEST)
    layer = signer.older_over(payload)
    bare = check_simple_signing(layer, payload, key, "registry.example.com/x:1", DIGEST)
    layer["annotations"]["dev.sigstore.cosign/bundle"] = orjson.dumps(
        LOG.promise(hashed_entry(bare))
    ).decode()
    check_logged(
        check_simple_signing(layer, payload, key, "registry.example.com/x:1", DIGEST), ROOT
    )

    whole = orjson.loads(signer.bundle(DIGEST))
    unlogged = check_bundle(orjson.dumps(whole), key, DIGEST)
    whole["verificationMaterial"]["tlogEntries"] = [LOG.tlog_entry(dsse(unlogged))]
    check_logged(check_bundle(orjson.dumps(whole), key, DIGEST), ROOT)


def test_one_valid_entry_is_enough() -> None:
    strange = Log().promise(hashed_entry(SIGNED))
    check_logged(with_entry(strange, LOG.promise(hashed_entry(SIGNED))), ROOT)


def changed_entry(**payload: Any) -> dict[str, Any]:
    promise = LOG.promise(hashed_entry(SIGNED))
    return {**promise, "Payload": {**promise["Payload"], **payload}}


DEEP = orjson.loads(nested_json(1000))
OTHER = Signed(b"another document", b"a signature")
RESIGNED = Signed(b"a document", b"another signature")
LIES: dict[str, tuple[dict[str, Any], str]] = {
    "another log": (Log().promise(hashed_entry(SIGNED)), "does not trust"),
    "another time": (changed_entry(integratedTime=TIME + 1), "not signed by the log"),
    "another place": (changed_entry(logIndex=8), "not signed by the log"),
    "another body": (
        changed_entry(body=base64_of(orjson.dumps(hashed_entry(OTHER)))),
        "not signed by the log",
    ),
    "another document": (LOG.promise(hashed_entry(OTHER)), "another signature"),
    "another document in an envelope": (LOG.promise(dsse(OTHER)), "another signature"),
    "another signature of it": (LOG.promise(hashed_entry(RESIGNED)), "another signature"),
    "an unknown kind": (LOG.promise({"kind": "rpm", "spec": {}}), "not support"),
    "no kind": (LOG.promise({}), "not support"),
    "no promise": ({"canonicalizedBody": "x", "inclusionProof": {}}, "no signed timestamp"),
    "nothing": ({}, "no signed timestamp"),
    "no numbers": (changed_entry(integratedTime="soon"), "cannot be read"),
    "an invalid time": (changed_entry(integratedTime=10**30), "no time"),
    "a huge position": (changed_entry(logIndex=2**64), "cannot be read"),
    "a huge time": (changed_entry(integratedTime="9" * 5000), "cannot be read"),
    "a log without name": (changed_entry(logID=None), "does not trust"),
    "a deep body": (changed_entry(body=DEEP), "log entry"),
    "a deep log": (changed_entry(logID=DEEP), "log entry"),
    "a time that is a text of digits": (changed_entry(integratedTime="9" * 30), "log entry"),
    "a negative time": (changed_entry(integratedTime=-(2**63)), "log entry"),
    "a huge index": (changed_entry(logIndex=1e300), "log entry"),
    "a fractional index": (changed_entry(logIndex=0.5), "log entry"),
    "a boolean index": (changed_entry(logIndex=True), "log entry"),
    "no index": (changed_entry(logIndex=None), "log entry"),
}


@pytest.mark.parametrize(("entry", "reason"), LIES.values(), ids=LIES.keys())
def test_an_entry_that_the_log_did_not_sign_is_refused(entry: dict[str, Any], reason: str) -> None:
    with pytest.raises(VerificationError, match=reason):
        check_logged(with_entry(entry), ROOT)


def test_without_an_entry_the_message_names_ignore_tlog() -> None:
    with pytest.raises(VerificationError, match="ignoreTlog"):
        check_logged(SIGNED, ROOT)


def test_without_a_trust_root_no_entry_counts() -> None:
    with pytest.raises(VerificationError, match=r"trusted_root\.json"):
        check_logged(with_entry(LOG.promise(hashed_entry(SIGNED))), EMPTY_TRUST_ROOT)


@pytest.mark.parametrize(
    ("valid", "fine"),
    [
        ({"start": "2020-01-01T00:00:00Z"}, True),
        ({"start": "2020-01-01T00:00:00Z", "end": "2100-01-01T00:00:00Z"}, True),
        ({"start": "2020-01-01T00:00:00Z", "end": "2021-01-01T00:00:00Z"}, False),
        ({"start": "2100-01-01T00:00:00Z"}, False),
    ],
)
def test_a_log_key_is_valid_only_in_its_period(valid: dict[str, str], fine: bool) -> None:
    root = read_trust_root(LOG.root(**valid))
    signed = with_entry(LOG.promise(hashed_entry(SIGNED)))
    if fine:
        check_logged(signed, root)
    else:
        with pytest.raises(VerificationError, match="outside the validity period"):
            check_logged(signed, root)


def test_a_log_with_an_unsupported_key_does_not_hide_others() -> None:
    """As in the trusted_root.json of the public services: Rekor v2 signs with Ed25519."""
    whole = orjson.loads(LOG.root())
    whole["tlogs"].insert(0, {"publicKey": {"rawBytes": "eA==", "keyDetails": "PKIX_ED25519"}})
    assert read_trust_root(orjson.dumps(whole)).logs == ROOT.logs
    whole["tlogs"].pop()
    assert read_trust_root(orjson.dumps(whole)).logs == {}


@pytest.mark.parametrize(
    "junk", [b"", b"[]", b"{}", b'{"tlogs":[{}]}', b'{"tlogs":[{"logId":{"keyId":"!"}}]}']
)
def test_an_invalid_trust_root_is_refused(junk: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_trust_root(junk)


def test_two_trust_roots_have_different_digests() -> None:
    assert isinstance(ROOT, TrustRoot)
    assert read_trust_root(LOG.root()).digest == ROOT.digest
    assert read_trust_root(Log().root()).digest != ROOT.digest
