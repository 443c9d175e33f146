"""managers.certs.chain: what leads from a served certificate to a trusted authority."""

import pytest

from e2e.harness import certificates
from e2e.harness.certificates import Signed
from managers.certs.chain import build, fingerprints, first_certificate, read_all
from managers.certs.reading import content_of

ROOT = certificates.authority("Root")
BETWEEN = certificates.authority("Between", ROOT)
LEAF = certificates.leaf(BETWEEN, ("a.example.com",))
OTHER = certificates.authority("Other")
# The same name as ROOT, and another key.
IMPOSTOR = certificates.authority("Root")


def pem(*certificates_: Signed) -> bytes:
    return b"".join(one.pem for one in certificates_)


# sentence: (served, trusted, word of the problem)
ROWS: dict[str, tuple[bytes, bytes, str]] = {
    "through the intermediate": (pem(LEAF, BETWEEN), pem(ROOT), ""),
    "one of several authorities": (pem(LEAF, BETWEEN), pem(OTHER, ROOT), ""),
    "the intermediate itself is trusted": (pem(LEAF), pem(BETWEEN), ""),
    "the intermediate lies among the authorities": (pem(LEAF), pem(ROOT, BETWEEN), ""),
    "without the intermediate": (pem(LEAF), pem(ROOT), "Between"),
    "another authority": (pem(LEAF, BETWEEN), pem(OTHER), "Root"),
    "an authority of the same name": (pem(LEAF, BETWEEN), pem(IMPOSTOR), "Root"),
    "signed by something that is no authority": (
        pem(certificates.leaf(LEAF, ("b.example.com",)), LEAF, BETWEEN),
        pem(ROOT),
        "a.example.com",
    ),
}


@pytest.mark.parametrize(("served", "trusted", "word"), ROWS.values(), ids=ROWS.keys())
def test_chain(served: bytes, trusted: bytes, word: str) -> None:
    found = build(served, trusted)
    assert bool(found.problem) == bool(word)
    assert word in found.problem
    assert (found.until is None) == bool(word)


def test_the_shortest_link_says_until_when() -> None:
    short = certificates.leaf(ROOT, ("a.example.com",), days=3)
    assert build(pem(short), pem(ROOT)).until == short.certificate.not_valid_after_utc
    assert build(pem(short), pem(ROOT)).root == fingerprints(ROOT.pem)[0]


def test_a_chain_that_turns_in_a_circle_ends() -> None:
    assert build(pem(ROOT, IMPOSTOR), pem(OTHER)).problem


def test_the_first_certificate_alone() -> None:
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

    def test_b27_without_an_authority_there_is_no_chain(self) -> None:
        content = content_of(self.files(tls_crt=LEAF.pem, tls_key=LEAF.key_pem))
        assert content.chain_problem == "ca.crt missing"

    def test_the_authority_of_an_acme_server_is_the_one_that_signs(self) -> None:
        content = content_of(self.files(**{"ca_crt": OTHER.pem, "pki-ca_crt": ROOT.pem}))
        assert content.authority == ROOT.pem.decode()

    def test_no_key_is_kept(self) -> None:
        data = self.files(tls_crt=LEAF.pem, tls_key=LEAF.key_pem, ca_crt=ROOT.pem)
        assert LEAF.key_pem.decode().splitlines()[1] not in repr(content_of(data))

    def test_both_authorities_are_read(self) -> None:
        data = self.files(
            ca_crt=pem(ROOT, OTHER), ca_key=ROOT.key_pem, next_crt=OTHER.pem, next_key=OTHER.key_pem
        )
        content = content_of(data)
        assert content.certificate is not None
        assert content.upcoming is not None
        assert content.former is None
        assert content.certificate.fingerprint == fingerprints(ROOT.pem)[0]

    def test_half_of_a_second_authority_is_a_problem(self) -> None:
        data = self.files(ca_crt=ROOT.pem, ca_key=ROOT.key_pem, next_crt=OTHER.pem)
        assert "next.key" in content_of(data).problem
