"""managers.certs.x509: certificates that real TLS accepts while they are valid."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.ip_address import is_ip
from managers.certs.key_pair import AUTHORITY_LIFE, BACKDATE, SERVER_LIFE, KeyPair
from managers.certs.x509 import issue_server, make_authority, read
from runtime.clock import SystemClock
from tests import gen

NAME = "openbao-cluster-x.local"
NAMES = gen.resolved(gen.cluster()).certificate_names
ADDRESSES = ("127.0.0.1", "::1")
AUTHORITY = make_authority("x", gen.NOW)
SERVER = issue_server(AUTHORITY, NAMES, ADDRESSES, gen.NOW)


def load_certificate(pair: KeyPair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate)


async def handshake_with(folder: Path, server: KeyPair, authority: bytes, name: str) -> str:
    """Connect a client to a server over loopback; the client checks `name`. Return the response.

    Both present a certificate, as raft peers do. Raises ssl.SSLError if one rejects the other.
    """
    files = folder / "tls.crt", folder / "tls.key"
    files[0].write_bytes(server.certificate)
    files[1].write_bytes(server.key)
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(*files)
    server_context.verify_mode = ssl.CERT_REQUIRED
    server_context.load_verify_locations(cadata=authority.decode())
    client_context = ssl.create_default_context(cadata=authority.decode())
    client_context.load_cert_chain(*files)

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0, ssl=server_context) as listener:
        port = listener.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=client_context, server_hostname=name
        )
        writer.write(b"hello\n")
        answer = await reader.readline()
        writer.close()
        await writer.wait_closed()
    return answer.decode()


@pytest.mark.parametrize("name", [NAME, "localhost", "x-2.x.ns.svc", "x-public.ns", "127.0.0.1"])
async def test_a_real_handshake_accepts_every_name_of_a_server(tmp_path: Path, name: str) -> None:
    now = SystemClock().now()
    authority = make_authority("x", now)
    server = issue_server(authority, NAMES, ADDRESSES, now)
    assert await handshake_with(tmp_path, server, authority.certificate, name) == "hello\n"


# sentence: (age of the certificate, the name that the client checks, whether it trusts another CA)
REFUSED: dict[str, tuple[timedelta, str, bool]] = {
    "a name of another cluster": (timedelta(0), "openbao-cluster-y.local", False),
    "a pod of another namespace": (timedelta(0), "x-0.x.other.svc", False),
    "another CA of the same name": (timedelta(0), NAME, True),
    "an expired certificate": (SERVER_LIFE + timedelta(hours=1), NAME, False),
    "a certificate that is not valid yet": (-timedelta(days=1), NAME, False),
}


@pytest.mark.parametrize(("age", "name", "other"), REFUSED.values(), ids=REFUSED.keys())
async def test_a_real_handshake_refuses(
    tmp_path: Path, age: timedelta, name: str, other: bool
) -> None:
    issued_at = SystemClock().now() - age
    authority = make_authority("x", issued_at)
    server = issue_server(authority, NAMES, ADDRESSES, issued_at)
    trusted = make_authority("x", issued_at) if other else authority
    with pytest.raises(ssl.SSLCertVerificationError):
        await handshake_with(tmp_path, server, trusted.certificate, name)


def test_the_validity_follows_the_given_time() -> None:
    assert load_certificate(AUTHORITY).not_valid_before_utc == gen.NOW - BACKDATE
    assert load_certificate(AUTHORITY).not_valid_after_utc == gen.NOW + AUTHORITY_LIFE
    assert load_certificate(SERVER).not_valid_before_utc == gen.NOW - BACKDATE
    assert load_certificate(SERVER).not_valid_after_utc == gen.NOW + SERVER_LIFE


@settings(deadline=None, max_examples=25)
@given(st.timedeltas(timedelta(0), AUTHORITY_LIFE - timedelta(seconds=1)))
def test_no_certificate_outlives_its_ca(age: timedelta) -> None:
    server = issue_server(AUTHORITY, NAMES, ADDRESSES, gen.NOW + age)
    until = load_certificate(server).not_valid_after_utc
    assert until <= load_certificate(AUTHORITY).not_valid_after_utc
    assert until <= gen.NOW + age + SERVER_LIFE


def test_an_expired_ca_signs_nothing() -> None:
    with pytest.raises(ValueError, match="valid"):
        issue_server(AUTHORITY, NAMES, ADDRESSES, gen.NOW + AUTHORITY_LIFE + timedelta(days=1))


_LABEL = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
_DNS = st.lists(_LABEL, min_size=1, max_size=4).map(".".join)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(_DNS, unique=True, max_size=4),
    st.lists(st.ip_addresses().map(str).filter(is_ip), unique=True, max_size=4),
)
def test_a_certificate_contains_every_requested_name_and_address(
    names: list[str], addresses: list[str]
) -> None:
    """In the same form as in the spec: otherwise it would be issued again and again."""
    resolved = gen.resolved(gen.cluster(tls={"extraSANs": [*names, *addresses]}))
    pair = issue_server(
        AUTHORITY, resolved.certificate_names, resolved.certificate_addresses, gen.NOW
    )
    facts = read(pair, AUTHORITY.certificate)
    assert facts.dns_names == frozenset(resolved.certificate_names)
    assert facts.ip_addresses == frozenset(resolved.certificate_addresses)
    assert facts.key_matches
    assert facts.issuer_fingerprint == read(AUTHORITY, AUTHORITY.certificate).fingerprint


# RFC 5280: critical extensions, which a reader that does not know them must reject (4.2.1.3,
# 4.2.1.9).
CRITICAL = {"basicConstraints", "keyUsage"}


@pytest.mark.parametrize("pair", [AUTHORITY, SERVER], ids=["authority", "server"])
def test_critical_extensions(pair: KeyPair) -> None:
    criticality = {
        extension.oid._name: extension.critical for extension in load_certificate(pair).extensions
    }
    assert {name for name, critical in criticality.items() if critical} == CRITICAL


def test_key_usages() -> None:
    def constraint(pair: KeyPair) -> x509.BasicConstraints:
        return (
            load_certificate(pair).extensions.get_extension_for_class(x509.BasicConstraints).value
        )

    def uses(pair: KeyPair) -> set[str]:
        value = load_certificate(pair).extensions.get_extension_for_class(x509.KeyUsage).value
        names = (
            "digital_signature",
            "content_commitment",
            "key_encipherment",
            "data_encipherment",
            "key_agreement",
            "key_cert_sign",
            "crl_sign",
        )
        return {name for name in names if getattr(value, name)}

    assert (constraint(AUTHORITY).ca, constraint(AUTHORITY).path_length) == (True, 0)
    assert constraint(SERVER).ca is False
    assert uses(AUTHORITY) == {"digital_signature", "key_cert_sign", "crl_sign"}
    assert uses(SERVER) == {"digital_signature"}
    purposes = (
        load_certificate(SERVER).extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    )
    assert {purpose.dotted_string for purpose in purposes} == {
        "1.3.6.1.5.5.7.3.1",
        "1.3.6.1.5.5.7.3.2",
    }


def test_a_ca_with_an_rsa_key_signs_nothing() -> None:
    key = rsa.generate_private_key(65537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with pytest.raises(ValueError, match="elliptic curve"):
        issue_server(KeyPair(AUTHORITY.certificate, key), NAMES, ADDRESSES, gen.NOW)


def test_no_two_certificates_share_a_serial_number_or_a_key() -> None:
    pairs = [issue_server(AUTHORITY, NAMES, ADDRESSES, gen.NOW) for _ in range(5)]
    assert len({load_certificate(pair).serial_number for pair in pairs}) == 5
    assert len({pair.key for pair in pairs}) == 5


def test_a_long_cluster_name() -> None:
    """A common name has at most 64 characters; the alternative name is longer."""
    resolved = gen.resolved(gen.cluster("x" * 40))
    pair = issue_server(AUTHORITY, resolved.certificate_names, (), gen.NOW)
    assert f"openbao-cluster-{'x' * 40}.local" in read(pair).dns_names
    assert load_certificate(pair).subject.rfc4514_string().startswith("CN=openbao-cluster-xx")
    make_authority("x" * 40, gen.NOW)


def test_a_pair_does_not_show_its_key() -> None:
    shown = f"{SERVER} {SERVER!r}"
    assert "PRIVATE" not in shown
    assert SERVER.key.decode() not in shown


def test_a_key_of_another_certificate_does_not_match() -> None:
    other = issue_server(AUTHORITY, NAMES, ADDRESSES, gen.NOW)
    assert not read(KeyPair(SERVER.certificate, other.key)).key_matches


def test_the_issuer_is_unknown_for_another_ca() -> None:
    other = make_authority("x", gen.NOW)
    assert read(SERVER, other.certificate).issuer_fingerprint == ""
    assert read(SERVER).issuer_fingerprint == ""


@pytest.mark.parametrize(
    "pair",
    [
        KeyPair(b"", SERVER.key),
        KeyPair(SERVER.certificate, b""),
        KeyPair(SERVER.key, SERVER.certificate),
        KeyPair(SERVER.certificate[:200], SERVER.key),
    ],
    ids=["no certificate", "no key", "the wrong way round", "half a certificate"],
)
def test_invalid_input_is_a_value_error(pair: KeyPair) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        read(pair)
    with pytest.raises(ValueError, match=r"\S"):
        read(SERVER, b"no authority")


def test_times_are_utc() -> None:
    facts = read(SERVER)
    assert facts.not_after.tzinfo is not None
    assert facts.not_after.utcoffset() == timedelta(0)
    assert facts.not_after == datetime(2031, 1, 1, tzinfo=UTC)
