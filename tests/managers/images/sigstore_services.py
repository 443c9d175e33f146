"""Fakes of Fulcio, its certificate log and Rekor, with keys of a test.

They create what `cosign sign` without a key stores in a registry: a certificate for an identity
with the timestamp of a certificate log, and a log entry with timestamp, proof and checkpoint.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from managers.images.cosign import BUNDLE, STATEMENT, pre_authentication
from tests.managers.images.recorded import base64_of
from tests.managers.images.signing import Signer, statement

ISSUER = "https://issuer.example.com"
SUBJECT = "https://git.example.com/image/release.yml@refs/tags/v2.4.0"
ISSUED = datetime(2026, 1, 1, tzinfo=UTC)
_SCTS = ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
_ISSUER = ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
_ISSUER_DER = ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
_SINCE = {"start": "2020-01-01T00:00:00Z"}


def der_text(text: str) -> bytes:
    """A UTF8String in DER."""
    return _der(0x0C, text.encode())


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    length = bytes([size]) if size < 128 else b"\x82" + struct.pack("!H", size)
    return bytes([tag]) + length + content


class Log(Signer):
    """A log and its key: of certificates, or of entries."""

    @property
    def der(self) -> bytes:
        """The public key."""
        return self.key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    @property
    def id(self) -> bytes:
        """The hash of the key, by which logs are known."""
        return hashlib.sha256(self.der).digest()

    def instance(self, **valid: str) -> dict[str, Any]:
        """The log in a trusted_root.json."""
        key = {"rawBytes": base64_of(self.der), "keyDetails": "PKIX_ECDSA_P256_SHA_256"}
        return {
            "baseUrl": "https://log.example.com",
            "hashAlgorithm": "SHA2_256",
            "publicKey": {**key, "validFor": {**_SINCE, **valid}},
            "logId": {"keyId": base64_of(self.id)},
        }

    def promise_of(self, certificate: x509.Certificate, authority: Log) -> bytes:
        """A list with one signed certificate timestamp (RFC 6962, 3.2 and 3.3)."""
        when = int(ISSUED.timestamp() * 1000)
        body = certificate.tbs_precertificate_bytes
        entry = authority.id + struct.pack("!I", len(body))[1:] + body
        signature = self.sign(struct.pack("!BBQH", 0, 0, when, 1) + entry + b"\0\0")
        one = struct.pack("!B32sQHBBH", 0, self.id, when, 0, 4, 3, len(signature)) + signature
        return _der(0x04, struct.pack("!HH", len(one) + 2, len(one)) + one)

    def entry(self, kind: str, body: bytes, when: datetime) -> dict[str, Any]:
        """An entry of a tree of four, in the form of a bundle."""
        index, leaves = 2, [_leaf(b"a"), _leaf(b"b"), _leaf(body), _leaf(b"d")]
        left, right = _node(*leaves[:2]), _node(*leaves[2:])
        root = base64_of(_node(left, right))
        note = f"log.example.com - 1\n{len(leaves)}\n{root}\n"
        signed = base64_of(self.id[:4] + self.sign(note.encode()))
        promised = {
            "body": base64_of(body),
            "integratedTime": int(when.timestamp()),
            "logID": self.id.hex(),
            "logIndex": index,
        }
        promise = self.sign(orjson.dumps(promised, option=orjson.OPT_SORT_KEYS))
        return {
            "logIndex": str(index),
            "logId": {"keyId": base64_of(self.id)},
            "kindVersion": {"kind": kind, "version": "0.0.1"},
            "integratedTime": str(promised["integratedTime"]),
            "inclusionPromise": {"signedEntryTimestamp": base64_of(promise)},
            "inclusionProof": {
                "logIndex": str(index),
                "rootHash": root,
                "treeSize": str(len(leaves)),
                "hashes": [base64_of(leaves[3]), base64_of(left)],
                "checkpoint": {"envelope": f"{note}\n— log.example.com {signed}\n"},
            },
            "canonicalizedBody": base64_of(body),
        }


def _leaf(content: bytes) -> bytes:
    return hashlib.sha256(b"\0" + content).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()


class Authority(Log):
    """A certificate authority for signers."""

    def __init__(self) -> None:
        super().__init__()
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority")])
        public = self.key.public_key()
        self.certificate = (
            x509.CertificateBuilder(name, name, public, 1)
            .not_valid_before(ISSUED - timedelta(days=365))
            .not_valid_after(ISSUED + timedelta(days=3650))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage("key_cert_sign"), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .sign(self.key, hashes.SHA256())
        )

    def instance(self, **valid: str) -> dict[str, Any]:
        """The authority in a trusted_root.json."""
        raw = base64_of(self.certificate.public_bytes(serialization.Encoding.DER))
        return {
            "subject": {"organization": "example", "commonName": "an authority"},
            "uri": "https://authority.example.com",
            "certChain": {"certificates": [{"rawBytes": raw}]},
            "validFor": {**_SINCE, **valid},
        }


def _usage(one: str) -> x509.KeyUsage:
    names = (
        "digital_signature", "content_commitment", "key_encipherment", "data_encipherment",
        "key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
    )  # fmt: skip
    return x509.KeyUsage(**{name: name == one for name in names})


@dataclass
class KeylessSigner:
    """A signer with an identity, and the services that it uses."""

    authority: Authority = field(default_factory=Authority)
    certificate_log: Log = field(default_factory=Log)
    log: Log = field(default_factory=Log)
    issuer: tuple[str, str] = (ISSUER, ISSUER)
    """In the old form and in the new one; "" leaves it out."""
    names: tuple[x509.GeneralName, ...] = (x509.UniformResourceIdentifier(SUBJECT),)
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: Signer().key)
    used_key: ec.EllipticCurvePrivateKey | None = None
    """Another key than that of the certificate, to sign with."""
    logged: timedelta = timedelta(minutes=1)
    """After the certificate was issued."""
    purpose: ObjectIdentifier = ExtendedKeyUsageOID.CODE_SIGNING

    def trusted_root(self, **changes: Any) -> bytes:
        """A trusted_root.json of these services."""
        whole = {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [self.log.instance()],
            "certificateAuthorities": [self.authority.instance()],
            "ctlogs": [self.certificate_log.instance()],
            "timestampAuthorities": [],
        }
        return orjson.dumps({**whole, **changes})

    def bundle(self, digest: str, **changes: Any) -> bytes:
        """A bundle about an image; `changes` are of the statement."""
        return orjson.dumps(self.parts(digest, **changes))

    def parts(self, digest: str, **changes: Any) -> dict[str, Any]:
        """The same before it is encoded."""
        return self.parts_over(statement(digest, **changes))

    def parts_over(self, payload: bytes, kind: str = STATEMENT) -> dict[str, Any]:
        """A bundle over any payload."""
        certificate = self.certificate()
        signed = pre_authentication(kind, payload)
        signature = (self.used_key or self.key).sign(signed, ec.ECDSA(hashes.SHA256()))
        entry = self.log.entry(
            "dsse", self.entry_body(payload, signature, certificate), ISSUED + self.logged
        )
        raw = certificate.public_bytes(serialization.Encoding.DER)
        return {
            "mediaType": BUNDLE,
            "verificationMaterial": {
                "certificate": {"rawBytes": base64_of(raw)},
                "tlogEntries": [entry],
                "timestampVerificationData": {"rfc3161Timestamps": []},
            },
            "dsseEnvelope": {
                "payload": base64_of(payload),
                "payloadType": kind,
                "signatures": [{"sig": base64_of(signature)}],
            },
        }

    @staticmethod
    def entry_body(payload: bytes, signature: bytes, certificate: x509.Certificate) -> bytes:
        """What the log stores of a signature."""
        digest = {"algorithm": "sha256", "value": hashlib.sha256(payload).hexdigest()}
        verifier = base64_of(certificate.public_bytes(serialization.Encoding.PEM))
        spec = {
            "envelopeHash": digest,
            "payloadHash": digest,
            "signatures": [{"signature": base64_of(signature), "verifier": verifier}],
        }
        return orjson.dumps({"apiVersion": "0.0.1", "kind": "dsse", "spec": spec})

    def certificate(self) -> x509.Certificate:
        """A certificate for the identity, with the timestamp of its precertificate."""
        bare = self._certificate(_der(0x04, b"\0\0"))
        return self._certificate(self.certificate_log.promise_of(bare, self.authority))

    def _certificate(self, timestamps: bytes) -> x509.Certificate:
        parent = self.authority.certificate
        key_id = x509.SubjectKeyIdentifier.from_public_key(parent.public_key())
        builder = (
            x509.CertificateBuilder(parent.subject, x509.Name([]), self.key.public_key(), 7)
            .not_valid_before(ISSUED)
            .not_valid_after(ISSUED + timedelta(minutes=10))
            .add_extension(_usage("digital_signature"), critical=True)
            .add_extension(x509.ExtendedKeyUsage([self.purpose]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(key_id),
                critical=False,
            )
            .add_extension(x509.SubjectAlternativeName(self.names), critical=True)
            .add_extension(x509.UnrecognizedExtension(_SCTS, timestamps), critical=False)
        )
        plain, encoded = self.issuer
        for oid, text in ((_ISSUER, plain.encode()), (_ISSUER_DER, encoded and der_text(encoded))):
            if text:
                builder = builder.add_extension(
                    x509.UnrecognizedExtension(oid, bytes(text)), critical=False
                )
        return builder.sign(self.authority.key, hashes.SHA256())
