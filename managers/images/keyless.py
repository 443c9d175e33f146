"""Verifies keyless signatures: a certificate that is valid for ten minutes names the signer.

The package `sigstore` verifies certificate chain, certificate log, transparency log, times and
signature with the operator's trusted_root.json; nothing here calls a server. This module checks the
identity and the content of the statement. Called by managers.images.signatures in a thread: the
imports of the first call take half a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from cryptography.hazmat import asn1
from cryptography.x509 import (
    Certificate,
    ExtensionNotFound,
    ObjectIdentifier,
    OtherName,
    RFC822Name,
    SubjectAlternativeName,
    UniformResourceIdentifier,
    UnrecognizedExtension,
)

from contracts.api.cluster.image_verification import ImageVerification
from contracts.api.values.identity_pattern import IdentityPattern
from managers.images.cosign import (
    STATEMENT,
    Signed,
    VerificationError,
    as_dict,
    as_list,
    check_statement,
    read_json,
)
from managers.images.tlog import check_logged
from managers.images.trust import TrustRoot

if TYPE_CHECKING:
    from sigstore.verify import Verifier

# Fulcio's registry of object identifiers. The first is plain text, the others are DER.
_ISSUER = ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
_ISSUER_DER = ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
_USER_NAME = ObjectIdentifier("1.3.6.1.4.1.57264.1.7")

_NO_ROOT = (
    "the operator has no certificate authority of signers; set SIGSTORE_TRUSTED_ROOT of the "
    "operator to a trusted_root.json, or sign with a key and set publicKey"
)
_BAD_ROOT = (
    "the operator's trusted_root.json cannot verify identities: it must name certificate "
    "authorities, certificate logs and transparency logs; replace the file"
)
_UNTRUSTED = "the signature cannot be verified with the operator's trusted_root.json"
# Part of an error message of the library -> our message; the first match is used. The messages of
# the library are not shown, because they quote the bundle.
_REASONS = (
    ("keys not found", _BAD_ROOT),
    ("Did not find any", _BAD_ROOT),
    ("not valid at validation time", "the certificate was not valid when the signature was made"),
    ("expired at time of signing", "the certificate was not valid when the signature was made"),
    ("certificate chain", "the certificate is not from an authority that the operator trusts"),
    ("SCT", "the certificate is not in a certificate log that the operator trusts"),
    (
        "certificate timestamp",
        "the certificate is not in a certificate log that the operator trusts",
    ),
    ("log entry payload", "the log entry is for another signature"),
    ("log entry signatures", "the log entry is for another signature"),
    ("log entry is inconsistent", "the log entry is for another signature"),
    ("DSSE log entry", "the log entry is of a kind that the operator does not support"),
    ("time only supported for", "the log entry is of a kind that the operator does not support"),
    ("invalid log entry", "the log entry is not in a transparency log that the operator trusts"),
    ("verified time", "the signature has no timestamp from a source that the operator trusts"),
    ("imestamp", "the signature has no timestamp from a source that the operator trusts"),
    ("DSSE: invalid signature", "the signature does not match the key of its certificate"),
)


@dataclass(frozen=True, slots=True)
class SignerIdentity:
    """The required signer, as a `VerificationPolicy` of the library."""

    issuer: Callable[[str], bool]
    subject: Callable[[str], bool]

    @classmethod
    def of(cls, policy: ImageVerification) -> SignerIdentity:
        """Read a policy. Raises ValueError for an incomplete identity or an invalid pattern."""
        if policy.issuer and policy.subject:
            return cls(policy.issuer.__eq__, policy.subject.__eq__)
        if policy.issuer_reg_exp and policy.subject_reg_exp:
            issuer = IdentityPattern(policy.issuer_reg_exp)
            return cls(issuer.found_in, IdentityPattern(policy.subject_reg_exp).found_in)
        raise ValueError("it names no complete identity")

    def verify(self, cert: Certificate) -> None:
        """Compare the identity of a verified certificate. Raises VerificationError."""
        if not self.issuer(_issuer_of(cert)):
            raise VerificationError("the certificate names another issuer than the policy")
        if not self.subject(_subject_of(cert)):
            raise VerificationError("the certificate names another subject than the policy")


def _issuer_of(cert: Certificate) -> str:
    """Return the issuer. A certificate has it in an old and a new form, which must agree."""
    issuers = set()
    for oid in (_ISSUER, _ISSUER_DER):
        try:
            value = cert.extensions.get_extension_for_oid(oid).value
        except ExtensionNotFound:
            continue
        if isinstance(value, UnrecognizedExtension):
            text = value.value
            issuers.add(asn1.decode_der(str, text) if oid == _ISSUER_DER else text.decode())
    if len(issuers) != 1:
        raise VerificationError("the certificate does not name exactly one issuer of the identity")
    return issuers.pop()


def _subject_of(cert: Certificate) -> str:
    """Return the identity: a URI, an email address or a user name."""
    names = list(cert.extensions.get_extension_for_class(SubjectAlternativeName).value)
    if len(names) == 1:
        (name,) = names
        if isinstance(name, RFC822Name | UniformResourceIdentifier):
            return name.value
        if isinstance(name, OtherName) and name.type_id == _USER_NAME:
            return asn1.decode_der(str, name.value)
    raise VerificationError("the certificate does not name exactly one identity")


def verifier_of(root: TrustRoot) -> Verifier:
    """Return the cached verifier of a trust root. Raises VerificationError."""
    if not root.content:
        raise VerificationError(_NO_ROOT)
    try:
        return _verifier(root.content)
    except Exception:  # noqa: BLE001 - the library raises any error for an invalid file
        raise VerificationError(_BAD_ROOT) from None


@lru_cache(maxsize=1)
def _verifier(content: bytes) -> Verifier:
    # The import takes half a second and 13 MB: only operators that verify an identity pay for it.
    from sigstore.models import TrustedRoot
    from sigstore.verify import Verifier
    from sigstore_models.trustroot.v1 import TrustedRoot as Content

    # From the content that was read at startup, because the recorded verdicts refer to it.
    return Verifier(trusted_root=TrustedRoot(Content.from_json(content)))


def check_keyless_bundle(
    bundle: bytes, signer: SignerIdentity, root: TrustRoot, digest: str
) -> None:
    """Check a Sigstore bundle with a certificate. Raises VerificationError."""
    content = as_dict(read_json(bundle))
    material = as_dict(content.get("verificationMaterial"))
    if as_dict(content.get("dsseEnvelope")).get("payloadType") != STATEMENT:
        raise VerificationError("the bundle contains no in-toto statement")
    if "certificate" not in material:
        raise VerificationError(
            "the signature was made with a key, and the policy requires an identity"
        )
    entries = [as_dict(entry) for entry in as_list(material.get("tlogEntries"))]
    if not entries:
        raise VerificationError(
            "the signature is not in a transparency log, which a keyless signature requires"
        )
    if not all(entry.get("inclusionProof") for entry in entries):
        raise VerificationError("the log entry has no inclusion proof; sign again with cosign 3")
    payload, signature = _verified(bundle, signer, root)
    check_statement(payload, digest)
    with_promise = tuple(entry for entry in entries if entry.get("inclusionPromise"))
    if with_promise:
        # The library ignores the validity period of the log's key.
        check_logged(Signed(payload, signature, with_promise), root)


def _verified(bundle: bytes, signer: SignerIdentity, root: TrustRoot) -> tuple[bytes, bytes]:
    """Return the signed payload, and the signature."""
    verifier = verifier_of(root)
    from sigstore.models import Bundle

    try:
        parsed = Bundle.from_json(bundle)
        kind, payload = verifier.verify_dsse(parsed, signer)
    except VerificationError:
        raise
    except Exception as error:  # noqa: BLE001 - the library raises any error for invalid bytes
        text = str(error)
        reason = next((reason for part, reason in _REASONS if part in text), _UNTRUSTED)
        raise VerificationError(reason) from None
    # The parser of the library may return another type than our parser.
    if kind != STATEMENT:
        raise VerificationError("the bundle contains no in-toto statement")
    return payload, parsed.signature
