"""managers.images.keyless: an identity verifies its own signatures only."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from importlib import resources
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, ObjectIdentifier

from contracts.api.cluster.image_verification import ImageVerification
from contracts.api.values.public_key import read_public_key
from managers.images.cosign import VerificationError, check_bundle
from managers.images.keyless import SignerIdentity, check_keyless_bundle, verifier_of
from managers.images.tlog import read_trust_root
from managers.images.trust import EMPTY_TRUST_ROOT, TrustRoot
from tests.managers.images.recorded import base64_of
from tests.managers.images.signing import Signer
from tests.managers.images.sigstore_services import (
    ISSUED,
    ISSUER,
    SUBJECT,
    Authority,
    KeylessSigner,
    Log,
    der_text,
)

DIGEST = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64
SIGNER = KeylessSigner()
ROOT = read_trust_root(SIGNER.trusted_root())
EXACT = {"issuer": ISSUER, "subject": SUBJECT}
RECORDED = Path(__file__).parent / "recorded" / "keyless-attestation.json"


Policy = dict[str, str]


def identity(policy: Policy) -> SignerIdentity:
    return SignerIdentity.of(ImageVerification.model_validate({"enabled": True, **policy}))


def check(
    bundle: bytes, root: TrustRoot = ROOT, digest: str = DIGEST, policy: Policy = EXACT
) -> None:
    check_keyless_bundle(bundle, identity(policy), root, digest)


def patterns(subject: str, issuer: str = ".") -> Policy:
    return {"issuerRegExp": issuer, "subjectRegExp": subject}


def email(address: str) -> KeylessSigner:
    return replace(SIGNER, names=(x509.RFC822Name(address),))


def user(name: str) -> KeylessSigner:
    kind = ObjectIdentifier("1.3.6.1.4.1.57264.1.7")
    return replace(SIGNER, names=(x509.OtherName(kind, der_text(name)),))


BELIEVED: dict[str, tuple[KeylessSigner, Policy]] = {
    "a URI": (SIGNER, EXACT),
    "an e-mail address": (email("a@example.com"), {**EXACT, "subject": "a@example.com"}),
    "a user name": (user("a!example.com"), {**EXACT, "subject": "a!example.com"}),
    "the old form of the issuer alone": (replace(SIGNER, issuer=(ISSUER, "")), EXACT),
    "the new form of the issuer alone": (replace(SIGNER, issuer=("", ISSUER)), EXACT),
    "patterns that fit": (
        SIGNER,
        patterns(r"^https://git\.example\.com/.*@refs/tags/v[0-9.]+$", r"^https://issuer\.")
    ),
    "an unanchored pattern, as in cosign": (SIGNER, patterns("release")),
}  # fmt: skip


@pytest.mark.parametrize(("signer", "policy"), BELIEVED.values(), ids=BELIEVED.keys())
def test_a_matching_identity_is_accepted(signer: KeylessSigner, policy: Policy) -> None:
    check(signer.bundle(DIGEST), policy=policy)


STRANGERS: dict[str, tuple[KeylessSigner, Policy, str]] = {
    "another issuer": (SIGNER, {**EXACT, "issuer": f"{ISSUER}/"}, "another issuer"),
    "another subject": (SIGNER, {**EXACT, "subject": f"{SUBJECT}0"}, "another subject"),
    "a subject in other letters": (
        SIGNER,
        {**EXACT, "subject": SUBJECT.upper()},
        "another subject",
    ),
    "a part of the subject": (SIGNER, {**EXACT, "subject": SUBJECT[:-1]}, "another subject"),
    "an issuer of another pattern": (SIGNER, patterns(".", "^https://iss$"), "another issuer"),
    "a subject of another pattern": (SIGNER, patterns(r"@refs/heads/"), "another subject"),
    "two different issuers": (
        replace(SIGNER, issuer=(ISSUER, "https://evil.example.com")),
        EXACT,
        "exactly one issuer",
    ),
    "no issuer": (replace(SIGNER, issuer=("", "")), EXACT, "exactly one issuer"),
    "two subjects": (
        replace(SIGNER, names=(*SIGNER.names, x509.RFC822Name("a@example.com"))),
        EXACT,
        "exactly one identity",
    ),
    "a host": (
        replace(SIGNER, names=(x509.DNSName("git.example.com"),)),
        patterns("."),
        "exactly one identity",
    ),
    "a name of another kind": (
        replace(
            SIGNER, names=(x509.OtherName(ObjectIdentifier("1.2.3"), der_text("a!example.com")),)
        ),
        patterns("."),
        "exactly one identity",
    ),
    "a name beyond ASCII": (user("v٣!example.com"), patterns(r"v\d"), "another subject"),
}


@pytest.mark.parametrize(("signer", "policy", "why"), STRANGERS.values(), ids=STRANGERS.keys())
def test_another_identity_is_refused(signer: KeylessSigner, policy: Policy, why: str) -> None:
    with pytest.raises(VerificationError, match=why):
        check(signer.bundle(DIGEST), policy=policy)


FORGED: dict[str, tuple[KeylessSigner, str]] = {
    "another CA": (replace(SIGNER, authority=Authority()), "not from an authority"),
    "another certificate log": (
        replace(SIGNER, certificate_log=Log()),
        "not in a certificate log",
    ),
    "another log": (replace(SIGNER, log=Log()), "not in a transparency log"),
    "after the certificate": (replace(SIGNER, logged=timedelta(minutes=11)), "not valid"),
    "before the certificate": (replace(SIGNER, logged=-timedelta(seconds=1)), "not valid"),
    "another key than the certified one": (
        replace(SIGNER, used_key=Signer().key),
        "key of its certificate",
    ),
    "a certificate for servers": (
        replace(SIGNER, purpose=ExtendedKeyUsageOID.SERVER_AUTH),
        "cannot be verified",
    ),
}


@pytest.mark.parametrize(("signer", "why"), FORGED.values(), ids=FORGED.keys())
def test_signatures_of_untrusted_services_are_refused(signer: KeylessSigner, why: str) -> None:
    with pytest.raises(VerificationError, match=why):
        check(signer.bundle(DIGEST))
    # The same signer is accepted if its services are trusted.
    if signer.trusted_root() != SIGNER.trusted_root():
        check(signer.bundle(DIGEST), read_trust_root(signer.trusted_root()))


Change = Callable[[dict[str, Any]], None]


def entry_of(parts: dict[str, Any]) -> dict[str, Any]:
    (entry,) = parts["verificationMaterial"]["tlogEntries"]
    older: dict[str, Any] = entry
    return older


def other_entry(parts: dict[str, Any]) -> None:
    parts["verificationMaterial"]["tlogEntries"] = [entry_of(SIGNER.parts(OTHER))]


def other_kind(parts: dict[str, Any]) -> None:
    entry = SIGNER.log.entry("rpm", b'{"kind":"rpm"}', ISSUED)
    parts["verificationMaterial"]["tlogEntries"] = [entry]


CHANGES: dict[str, tuple[Change, str]] = {
    "no entry": (
        lambda parts: parts["verificationMaterial"].pop("tlogEntries"),
        "not in a transparency log",
    ),
    "no proof": (lambda parts: entry_of(parts).pop("inclusionProof"), "no inclusion proof"),
    "no checkpoint": (
        lambda parts: entry_of(parts)["inclusionProof"].pop("checkpoint"),
        "cannot be verified",
    ),
    "another place in the tree": (
        lambda parts: entry_of(parts)["inclusionProof"].update(logIndex="1"),
        "not in a transparency log",
    ),
    "no promise and so no time": (
        lambda parts: entry_of(parts).pop("inclusionPromise"),
        "no timestamp from a source",
    ),
    "another time": (
        lambda parts: entry_of(parts).update(integratedTime="1767225700"),
        "not in a transparency log",
    ),
    "the entry of another signature": (other_entry, "another signature"),
    "an entry of another kind": (other_kind, "not support"),
    "two entries": (
        lambda parts: parts["verificationMaterial"].update(tlogEntries=[entry_of(parts)] * 2),
        "cannot be verified",
    ),
    "another payload": (
        lambda parts: parts["dsseEnvelope"].update(payload=base64_of(b"{}")),
        "key of its certificate",
    ),
    "two signatures": (
        lambda parts: parts["dsseEnvelope"].update(signatures=[{"sig": "eA=="}] * 2),
        "cannot be verified",
    ),
    "no envelope": (lambda parts: parts.pop("dsseEnvelope"), "no in-toto statement"),
    "an invalid certificate": (
        lambda parts: parts["verificationMaterial"].update(certificate={"rawBytes": "eA=="}),
        "cannot be verified",
    ),
    "a timestamp without a signer": (
        lambda parts: parts["verificationMaterial"].update(
            timestampVerificationData={"rfc3161Timestamps": [{"signedTimestamp": "eA=="}]}
        ),
        "no timestamp from a source",
    ),
}


@pytest.mark.parametrize(("change", "why"), CHANGES.values(), ids=CHANGES.keys())
def test_a_changed_bundle_is_refused(change: Change, why: str) -> None:
    parts = SIGNER.parts(DIGEST)
    change(parts)
    with pytest.raises(VerificationError, match=why):
        check(orjson.dumps(parts))


def test_the_signed_statement_is_checked_as_with_a_key() -> None:
    with pytest.raises(VerificationError, match="another image"):
        check(SIGNER.bundle(OTHER))
    with pytest.raises(VerificationError, match="another predicate type"):
        check(SIGNER.bundle(DIGEST, predicateType="https://spdx.dev/Document"))
    with pytest.raises(VerificationError, match="exactly one image"):
        check(SIGNER.bundle(DIGEST, subject=[{"digest": {"sha256": "a" * 64}}] * 2))
    with pytest.raises(VerificationError, match="no in-toto statement"):
        check(orjson.dumps(SIGNER.parts_over(b"{}", "text/plain")))


def test_a_key_does_not_verify_an_identity_and_vice_versa() -> None:
    with pytest.raises(VerificationError, match="made with a key"):
        check(Signer().bundle(DIGEST))
    with pytest.raises(VerificationError, match="does not match the key"):
        check_bundle(SIGNER.bundle(DIGEST), read_public_key(Signer().public_key), DIGEST)


def test_a_log_key_is_valid_only_in_its_period() -> None:
    closed = SIGNER.log.instance(end="2025-12-31T00:00:00Z")
    root = read_trust_root(SIGNER.trusted_root(tlogs=[closed]))
    with pytest.raises(VerificationError, match="outside the validity period"):
        check(SIGNER.bundle(DIGEST), root)


ROOTS: dict[str, bytes] = {
    "no CA": SIGNER.trusted_root(certificateAuthorities=[]),
    "no log of certificates": SIGNER.trusted_root(ctlogs=[]),
    "an unknown format": SIGNER.trusted_root(mediaType="application/json"),
}


@pytest.mark.parametrize("content", ROOTS.values(), ids=ROOTS.keys())
def test_a_trust_root_for_keys_alone_verifies_no_identity(content: bytes) -> None:
    with pytest.raises(VerificationError, match="must name certificate authorities"):
        check(SIGNER.bundle(DIGEST), read_trust_root(content))


def test_without_a_trust_root_the_message_has_the_next_step() -> None:
    with pytest.raises(VerificationError, match="SIGSTORE_TRUSTED_ROOT"):
        check(SIGNER.bundle(DIGEST), EMPTY_TRUST_ROOT)


def test_each_trust_root_has_one_verifier() -> None:
    assert verifier_of(ROOT) is verifier_of(read_trust_root(SIGNER.trusted_root()))
    assert verifier_of(ROOT) is not verifier_of(read_trust_root(KeylessSigner().trusted_root()))


@pytest.mark.parametrize("policy", [{}, {"issuer": "a"}, {"subjectRegExp": "a"}, patterns("(")])
def test_an_incomplete_identity_is_refused(policy: Policy) -> None:
    with pytest.raises(ValueError, match=r"."):
        identity(policy)


@pytest.mark.parametrize("junk", [b"", b"[]", b"{}", b"\xff", b'{"verificationMaterial":7}'])
def test_junk_is_refused_without_a_crash(junk: bytes) -> None:
    with pytest.raises(VerificationError):
        check(junk)


def test_a_bundle_with_a_missing_part_is_refused() -> None:
    def paths(value: Any) -> list[tuple[Any, ...]]:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        deeper = [(key, *path) for key, part in items if isinstance(part, dict | list)
                  for path in [(), *paths(part)]]  # fmt: skip
        return [*[(key,) for key, _ in items], *deeper]

    def changed(path: tuple[Any, ...], value: Any) -> bytes:
        parts = SIGNER.parts(DIGEST)
        at: Any = parts
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value
        return orjson.dumps(parts)

    junk: tuple[Any, ...] = (None, 7, "eA==", [], {}, -1)
    # These are not read: the library ignores an empty list.
    unread = ("timestampVerificationData", "rfc3161Timestamps")
    for path in paths(SIGNER.parts(DIGEST)):
        for value in junk:
            if path[-1] in unread and not value:
                continue
            with pytest.raises(VerificationError):
                check(changed(path, value))


def public_root() -> TrustRoot:
    (content,) = (
        folder.joinpath("trusted_root.json").read_bytes()
        for folder in resources.files("sigstore._store").iterdir()
        if folder.name.endswith("sigstore.dev")
    )
    return read_trust_root(content)


def test_bundles_of_the_public_services_and_real_cosign_are_read() -> None:
    # Created by real cosign with an e-mail address; it is an attestation and no signature.
    bundle, digest = RECORDED.read_bytes(), f"sha256:{'7321122' + '0' * 57}"
    policy = patterns(r"^[a-z]+@[a-z]+\.com$", r"/login/oauth$")
    with pytest.raises(VerificationError, match="another predicate type"):
        check(bundle, public_root(), digest, policy)
    with pytest.raises(VerificationError, match="another issuer"):
        check(bundle, public_root(), digest, patterns(".", "^https://accounts"))
    with pytest.raises(VerificationError, match="not from an authority"):
        check(bundle, ROOT, digest, policy)


def test_verification_uses_no_network_and_writes_no_files(tmp_path: Path) -> None:
    (tmp_path / "bundle").write_bytes(SIGNER.bundle(DIGEST))
    (tmp_path / "root").write_bytes(SIGNER.trusted_root())
    script = f"""
import sys
from pathlib import Path
bundle, root = Path("bundle").read_bytes(), Path("root").read_bytes()
def guard(event, arguments):
    writes = event == "open" and set(str(arguments[1])) & set("wax+")
    # urllib3 binds a socket when it is imported, to see whether there is IPv6.
    calls = event.startswith("socket.") and event not in ("socket.__new__", "socket.bind")
    if calls or event in ("os.mkdir", "subprocess.Popen") or writes:
        raise SystemExit(f"{{event}} {{arguments}}")
sys.dont_write_bytecode = True
sys.addaudithook(guard)
from contracts.api.cluster.image_verification import ImageVerification
from managers.images.keyless import SignerIdentity, check_keyless_bundle
from managers.images.tlog import read_trust_root
policy = ImageVerification(enabled=True, issuer={ISSUER!r}, subject={SUBJECT!r})
check_keyless_bundle(bundle, SignerIdentity.of(policy), read_trust_root(root), {DIGEST!r})
print("proven")
"""
    environment = {"PYTHONPATH": str(Path(__file__).parents[3]), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("proven\n", 0), done.stderr
