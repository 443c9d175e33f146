"""managers.certs.chain: the chain from a served certificate to a trusted CA."""

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from e2e.harness import certificates
from e2e.harness.certificates import SignedCertificate
from managers.certs.chain import (
    LONGEST_CHAIN,
    SAME_SUBJECT_MAX,
    build,
    fingerprints,
    first_certificate,
    read_all,
)
from managers.certs.secret_content import content_of
from managers.context.secret_files import RefusedFileError
from tests.gen import key_files

ROOT = certificates.authority("Root")
BETWEEN = certificates.authority("Between", ROOT)
LEAF = certificates.leaf(BETWEEN, ("a.example.com",))
OTHER = certificates.authority("Other")
# The same name as ROOT, and another key.
IMPOSTOR = certificates.authority("Root")


def pem(*certificates_: SignedCertificate) -> bytes:
    return b"".join(certificate.pem for certificate in certificates_)


# sentence: (served, trusted, word of the problem)
ROWS: dict[str, tuple[bytes, bytes, str]] = {
    "through the intermediate": (pem(LEAF, BETWEEN), pem(ROOT), ""),
    "one of several CAs": (pem(LEAF, BETWEEN), pem(OTHER, ROOT), ""),
    "the intermediate itself is trusted": (pem(LEAF), pem(BETWEEN), ""),
    "the intermediate is in the CA bundle": (pem(LEAF), pem(ROOT, BETWEEN), ""),
    "without the intermediate": (pem(LEAF), pem(ROOT), "Between"),
    "another CA": (pem(LEAF, BETWEEN), pem(OTHER), "Root"),
    "a CA of the same name": (pem(LEAF, BETWEEN), pem(IMPOSTOR), "Root"),
    "signed by a certificate that is not a CA": (
        pem(certificates.leaf(LEAF, ("b.example.com",)), LEAF, BETWEEN),
        pem(ROOT),
        "a.example.com",
    ),
}


@pytest.mark.parametrize(("served", "trusted", "word"), ROWS.values(), ids=ROWS.keys())
def test_chain(served: bytes, trusted: bytes, word: str) -> None:
    chain = build(served, trusted)
    assert bool(chain.problem) == bool(word)
    assert word in chain.problem
    assert (chain.until is None) == bool(word)


def test_the_chain_expires_with_its_first_certificate() -> None:
    short = certificates.leaf(ROOT, ("a.example.com",), days=3)
    assert build(pem(short), pem(ROOT)).until == short.certificate.not_valid_after_utc
    assert build(pem(short), pem(ROOT)).root == fingerprints(ROOT.pem)[0]


def test_a_circular_chain_is_a_problem() -> None:
    assert build(pem(ROOT, IMPOSTOR), pem(OTHER)).problem


def namesakes(count: int) -> bytes:
    """Return CAs of one name, none of which signed the certificate that names them as issuer."""
    public = ec.generate_private_key(ec.SECP256R1()).public_key()
    return b"".join(
        key_files.certificate(public, "root", ca=True, serial=n) for n in range(1, count + 1)
    )


SIGNED = key_files.certificate(key_files.SIGNER.public_key())
SIGNING = key_files.certificate(key_files.SIGNER.public_key(), "root", ca=True)


def test_attack_t10_the_number_of_cas_of_one_name_is_limited() -> None:
    assert not build(SIGNED, namesakes(SAME_SUBJECT_MAX - 1) + SIGNING).problem
    with pytest.raises(
        RefusedFileError, match=f"{SAME_SUBJECT_MAX + 1} certificates are named CN=r"
    ):
        build(SIGNED, namesakes(SAME_SUBJECT_MAX) + SIGNING)
    # A duplicate is tried once, and those after the issuer are not tried.
    assert not build(SIGNED, namesakes(1) * 9 + SIGNING).problem
    assert not build(SIGNED, SIGNING + namesakes(SAME_SUBJECT_MAX)).problem


def test_attack_t10_an_expensive_key_verifies_no_signature() -> None:
    huge = key_files.certificate(key_files.rsa_key(10240).public_key(), "root", ca=True)
    with pytest.raises(RefusedFileError, match=r"CN=root: .*10240 bits"):
        build(SIGNED, huge)
    # Only the CAs with the name of the issuer are checked.
    assert not build(SIGNED, SIGNING + huge.replace(b"root", b"toor")).problem


def test_a_longer_chain_is_a_problem() -> None:
    links = [
        key_files.certificate(key_files.SIGNER.public_key(), f"n{n}", issuer=f"n{n + 1}", ca=True)
        for n in range(LONGEST_CHAIN + 1)
    ]
    assert "too long" in build(b"".join(links), links[-1]).problem


def strange_root(*extensions: x509.ExtensionType) -> bytes:
    return key_files.certificate(
        key_files.SIGNER.public_key(), "root", ca=True, extensions=[*extensions]
    )


ALTERNATIVE_NAME = x509.ObjectIdentifier("2.5.29.17")
# Extensions for which the library raises other errors than ValueError.
EXTENSIONS = {
    "two of one kind": key_files.rewritten(
        strange_root(
            x509.SubjectAlternativeName([x509.DNSName("a")]),
            x509.IssuerAlternativeName([x509.DNSName("a")]),
        ),
        "0603551d12",
        "0603551d11",
    ),
    "a name of an unknown kind": strange_root(
        x509.UnrecognizedExtension(ALTERNATIVE_NAME, bytes.fromhex("3004a3020500"))
    ),
    "bytes": strange_root(x509.UnrecognizedExtension(ALTERNATIVE_NAME, b"\x30\x05")),
}


@pytest.mark.parametrize("strange", EXTENSIONS.values(), ids=EXTENSIONS.keys())
def test_invalid_extensions_are_a_problem(strange: bytes) -> None:
    assert build(SIGNED, strange).problem
    key = key_files.key_pem(key_files.SIGNER)
    data = certificates.data(tls_crt=SIGNED, tls_key=key, ca_crt=strange)
    assert content_of(data).chain_problem
    assert content_of(certificates.data(tls_crt=strange, tls_key=key, ca_crt=strange)).problem


def test_a_bundle_that_tls_cannot_read_is_a_problem() -> None:
    """Two certificates without a newline between them: the libraries read different content."""
    key = key_files.key_pem(key_files.SIGNER)
    glued = SIGNING.rstrip(b"\n") + namesakes(1)
    assert len(read_all(glued)) == 2
    server = content_of(certificates.data(tls_crt=SIGNED, tls_key=key, ca_crt=glued))
    assert "ca.crt: the TLS library reads no certificate in it" in server.problem
    issuer = content_of(certificates.data(**{"pki-ca_crt": glued}))
    assert "pki-ca.crt: the TLS library reads no certificate in it" in issuer.problem
    # This bundle is only for clients.
    assert len(content_of(certificates.data(ca_crt=glued)).trusted) == 2


def test_a_problem_names_the_entry() -> None:
    key = key_files.key_pem(key_files.SIGNER)
    rows = {
        "tls.crt": certificates.data(tls_crt=b"x", tls_key=key, ca_crt=SIGNING),
        "tls.key": certificates.data(tls_crt=SIGNED, tls_key=b"x", ca_crt=SIGNING),
        "ca.crt": certificates.data(tls_crt=SIGNED, tls_key=key, ca_crt=b"x"),
        "pki-ca.crt": certificates.data(**{"pki-ca_crt": b"x"}),
        "next.key": certificates.data(ca_crt=SIGNING, ca_key=key, next_crt=SIGNING, next_key=b"x"),
    }
    for name, data in rows.items():
        assert f"{name}: " in content_of(data).problem


def test_first_certificate() -> None:
    assert read_all(first_certificate(pem(LEAF, ROOT))) == (LEAF.certificate,)
    with pytest.raises(ValueError, match=r"."):
        first_certificate(b"nothing")


class TestContent:
    def files(self, **files: bytes) -> dict[str, str]:
        data: dict[str, str] = certificates.data(**files)
        return data

    def test_b27_rsa_and_intermediates_are_read(self) -> None:
        data = self.files(tls_crt=pem(LEAF, BETWEEN), tls_key=LEAF.key_pem, ca_crt=ROOT.pem)
        content = content_of(data)
        assert content.certificate is not None
        assert content.certificate.key_matches
        assert (content.problem, content.chain_problem) == ("", "")
        assert content.trusted == fingerprints(ROOT.pem)
        assert content.certificate.serial == f"{LEAF.serial:x}"

    def test_b27_without_a_ca_there_is_no_chain(self) -> None:
        content = content_of(self.files(tls_crt=LEAF.pem, tls_key=LEAF.key_pem))
        assert content.chain_problem == "ca.crt missing"

    def test_the_ca_of_an_acme_server_is_the_one_that_signs(self) -> None:
        content = content_of(self.files(**{"ca_crt": OTHER.pem, "pki-ca_crt": ROOT.pem}))
        assert content.authority == ROOT.pem.decode()

    def test_no_key_is_kept(self) -> None:
        data = self.files(tls_crt=LEAF.pem, tls_key=LEAF.key_pem, ca_crt=ROOT.pem)
        assert LEAF.key_pem.decode().splitlines()[1] not in repr(content_of(data))

    def test_both_cas_are_read(self) -> None:
        data = self.files(
            ca_crt=pem(ROOT, OTHER), ca_key=ROOT.key_pem, next_crt=OTHER.pem, next_key=OTHER.key_pem
        )
        content = content_of(data)
        assert content.certificate is not None
        assert content.upcoming is not None
        assert content.former is None
        assert content.certificate.fingerprint == fingerprints(ROOT.pem)[0]

    def test_a_second_ca_without_its_key_is_a_problem(self) -> None:
        data = self.files(ca_crt=ROOT.pem, ca_key=ROOT.key_pem, next_crt=OTHER.pem)
        assert "next.key" in content_of(data).problem
