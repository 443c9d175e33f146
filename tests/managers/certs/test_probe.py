"""managers.certs.probe: real handshakes, and no unnecessary probes."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from contracts.naming.ports import Port
from contracts.records.observed import PodFacts
from e2e.harness import certificates
from managers.certs import probe
from managers.certs.chain import fingerprints
from managers.certs.probe import ENTRIES_MAX, ServedCertificates, handshake
from managers.certs.rollout import all_serve, pods_not_serving
from tests import gen

ROOT = certificates.authority("Root")
LEAF = certificates.leaf(ROOT, ("openbao-cluster-x.local",), days=-1)
POD = gen.pod().ready().facts()


@asynccontextmanager
async def serving(
    context: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[asyncio.Server]:
    """A server that closes each connection after the handshake, at the port of the probe."""
    server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0, ssl=context)
    async with server:
        monkeypatch.setattr(probe, "API", Port("api", server.sockets[0].getsockname()[1]))
        yield server


def use(context: ssl.SSLContext, certificate: certificates.SignedCertificate, folder: Path) -> None:
    """Make a server use a certificate for further connections."""
    for name, content in (("c", certificate.pem), ("k", certificate.key_pem)):
        (folder / name).write_bytes(content)
    context.load_cert_chain(folder / "c", folder / "k")


async def test_an_invalid_certificate_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    use(context, LEAF, tmp_path)
    async with serving(context, monkeypatch):
        seen = await handshake("127.0.0.1", "openbao-cluster-x.local")
    assert seen == fingerprints(LEAF.pem)[0]
    assert await handshake("127.0.0.1", "openbao-cluster-x.local") == ""


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_handshakes_share_a_context_and_no_session(
    version: ssl.TLSVersion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resumed session has the certificate of the first connection."""
    clients = []
    connect = asyncio.open_connection

    async def record(*args: Any, ssl: ssl.SSLContext, **options: Any) -> Any:
        clients.append(ssl)
        return await connect(*args, ssl=ssl, **options)

    monkeypatch.setattr(asyncio, "open_connection", record)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = version
    renewed = certificates.leaf(ROOT, ("openbao-cluster-x.local",))
    seen = []
    async with serving(context, monkeypatch):
        for certificate in (LEAF, renewed):
            use(context, certificate, tmp_path)
            seen.append(await handshake("127.0.0.1", "openbao-cluster-x.local"))
    assert seen == [fingerprints(LEAF.pem)[0], fingerprints(renewed.pem)[0]]
    assert clients[0] is clients[1]


def own_dh_group(folder: Path) -> ssl.SSLContext:
    """TLS 1.2 with DHE: the server chooses the numbers that both sides compute with."""
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "x")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1)
    builder = builder.not_valid_before(gen.NOW).not_valid_after(gen.NOW + timedelta(days=1))
    (folder / "c").write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    (folder / "k").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    prime = (Random(1).getrandbits(2048) | 1 << 2047 | 1).to_bytes(257, "big")
    # A sequence (RFC 2631) of that number, which is not verified, and of 2.
    group = b"\x30\x82\x01\x08\x02\x82\x01\x01" + prime + b"\x02\x01\x02"
    lines = base64.encodebytes(group).decode()
    (folder / "g").write_text(
        f"-----BEGIN DH PARAMETERS-----\n{lines}-----END DH PARAMETERS-----\n"
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(folder / "c", folder / "k")
    context.load_dh_params(str(folder / "g"))
    context.set_ciphers("DHE+AESGCM:@SECLEVEL=0")
    return context


async def test_a_server_cannot_choose_an_expensive_key_exchange(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a group of 10,000 bits a handshake costs this one thread a second."""
    async with serving(own_dh_group(tmp_path), monkeypatch):
        assert await handshake("127.0.0.1", "openbao-cluster-x.local") == ""


class Servers:
    """Fingerprints by address, and the probed addresses."""

    def __init__(self, **serving: str) -> None:
        self.serving = serving
        self.requests: list[str] = []

    async def shake(self, address: str, server_name: str) -> str:
        assert server_name == "name"
        self.requests.append(address)
        return self.serving.get(f"ip{address.rpartition('.')[2]}", "")


async def certificates_of(
    served: ServedCertificates, *pods: PodFacts, expected: str = "new"
) -> list[str]:
    certificates = await served.of(pods, expected, "name")
    return [certificates.get(pod.uid, "-") for pod in pods]


async def test_a_server_is_probed_until_it_serves_the_expected_certificate() -> None:
    servers = Servers(ip1="old")
    served = ServedCertificates(servers.shake)
    assert await certificates_of(served, POD) == ["old"]
    servers.serving["ip1"] = "new"
    assert await certificates_of(served, POD) == ["new"]
    assert await certificates_of(served, POD) == ["new"]
    assert len(servers.requests) == 2
    # Another certificate is expected: the server is probed again.
    assert await certificates_of(served, POD, expected="newer") == ["new"]
    assert len(servers.requests) == 3


async def test_a_restarted_container_is_probed_again() -> None:
    servers = Servers(ip1="new")
    served = ServedCertificates(servers.shake)
    await certificates_of(served, POD)
    await certificates_of(served, replace(POD, restarts=1))
    await certificates_of(served, replace(POD, uid="another"))
    assert len(servers.requests) == 3


async def test_pods_that_are_not_ready_are_not_probed() -> None:
    servers = Servers(ip1="new")
    served = ServedCertificates(servers.shake)
    assert await certificates_of(served, replace(POD, ready=False), replace(POD, ip="")) == [
        "-",
        "-",
    ]
    assert servers.requests == []


async def test_memory_is_bounded() -> None:
    servers = Servers()
    served = ServedCertificates(servers.shake)
    pods = [replace(POD, uid=str(n)) for n in range(ENTRIES_MAX + 10)]
    assert set(await certificates_of(served, *pods)) == {""}
    assert len(served) == ENTRIES_MAX


async def test_a_known_server_that_is_dropped_during_a_probe_is_still_reported() -> None:
    """Clusters are reconciled at the same time, and their pods share the memory."""

    async def shake(address: str, server_name: str) -> str:
        if address == "192.0.2.9":
            await served.of(
                [replace(POD, uid=str(n)) for n in range(ENTRIES_MAX)], "new", server_name
            )
        return "new"

    served = ServedCertificates(shake)
    known, pending = POD, replace(POD, uid="pending", ip="192.0.2.9")
    assert await certificates_of(served, known) == ["new"]
    assert await certificates_of(served, known, pending) == ["new", "new"]


def test_which_pods_serve_an_old_certificate() -> None:
    new, old = replace(POD, serves="new"), replace(POD, serves="old")
    waiting = replace(POD, ready=False)
    assert all_serve((new,), "new")
    assert not all_serve((new, old), "new")
    # The certificate of an unready pod is unknown.
    assert not all_serve((new, waiting), "new")
    assert pods_not_serving((new, old, waiting), "new") == (old,)
    assert pods_not_serving((replace(old, ready=False),), "new") == (), (
        "an unready pod may serve any certificate"
    )
    assert pods_not_serving((POD,), "new") == (), "an unprobed pod"
    assert pods_not_serving((replace(POD, serves=""),), "new") != ()
