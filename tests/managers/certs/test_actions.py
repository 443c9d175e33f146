"""managers.certs.actions: the CA is created once; server certificates are issued again."""

import base64
from dataclasses import replace

import pytest

from contracts.records.effects import IssueAuthority, IssueServerCertificate
from managers.certs.actions import issue_authority, issue_server_certificate
from managers.certs.key_pair import KeyPair
from managers.certs.x509 import make_authority, read
from runtime.builtin_kinds import SECRET
from runtime.errors import Transient
from runtime.types import Object, ObjectKey, uid_of
from tests import gen
from tests.gen import key_files
from tests.gen.api import Outside, api_error

RESOLVED = gen.resolved(gen.cluster())
CA, SERVER = (ObjectKey(gen.NAMESPACE, f"x-tls-{part}") for part in ("ca", "server"))
MAKE = IssueAuthority(CA.name)
RSA = key_files.rsa_key(8192)
ISSUE = IssueServerCertificate(SERVER.name)


def files_of(live: Object) -> dict[str, bytes]:
    return {name: base64.b64decode(text) for name, text in live["data"].items()}


async def known(outside: Outside, key: ObjectKey) -> bool:
    """Return whether the cache has the Secret, without a request."""
    outside.api.calls.clear()
    facts = await outside.secrets.facts(key, reader=RESOLVED.owner, max_age=15, content=True)
    return facts is not None and outside.api.take_requests() == []


async def test_the_ca_signs_the_server_certificate() -> None:
    outside = Outside()
    await issue_authority(outside.context, RESOLVED, MAKE)
    await issue_server_certificate(outside.context, RESOLVED, ISSUE)
    assert outside.api.take_requests() == [
        "create Secret x-tls-ca",
        "get Secret x-tls-ca",
        "apply Secret x-tls-server",
    ]
    ca = files_of(outside.api.objects[(SECRET, CA)])
    server_secret = outside.api.objects[(SECRET, SERVER)]
    server = files_of(server_secret)
    assert server_secret["type"] == "kubernetes.io/tls"
    assert server["ca.crt"] == ca["ca.crt"]
    # The pods mount this Secret, so it must not contain the key of the CA.
    assert set(server) == {"tls.crt", "tls.key", "ca.crt"}
    facts = read(KeyPair(server["tls.crt"], server["tls.key"]), ca["ca.crt"])
    assert facts.issuer_fingerprint
    assert facts.dns_names == frozenset(RESOLVED.certificate_names)
    assert await known(outside, CA)
    assert await known(outside, SERVER)


async def test_a_ca_is_never_replaced() -> None:
    outside = Outside()
    await issue_authority(outside.context, RESOLVED, MAKE)
    before = outside.api.objects[(SECRET, CA)]["data"]
    await issue_authority(outside.context, RESOLVED, MAKE)
    assert outside.api.objects[(SECRET, CA)]["data"] == before
    # The next read requests the Secret from the API server.
    assert not await known(outside, CA)


async def test_a_renewal_replaces_the_certificate_and_its_key() -> None:
    outside = Outside()
    await issue_authority(outside.context, RESOLVED, MAKE)
    await issue_server_certificate(outside.context, RESOLVED, ISSUE)
    first = files_of(outside.api.objects[(SECRET, SERVER)])
    await outside.clock.advance(3600)
    renewal = replace(ISSUE, uid=uid_of(outside.api.objects[(SECRET, SERVER)]))
    await issue_server_certificate(outside.context, RESOLVED, renewal)
    second = files_of(outside.api.objects[(SECRET, SERVER)])
    assert first["tls.key"] != second["tls.key"]
    assert read(KeyPair(second["tls.crt"], second["tls.key"])).not_before > (
        read(KeyPair(first["tls.crt"], first["tls.key"])).not_before
    )


@pytest.mark.parametrize("observed", ["", "uid-former"], ids=["absent", "owned"])
async def test_i18_a_secret_of_another_owner_that_took_the_name_is_not_changed(
    observed: str,
) -> None:
    outside = Outside()
    await issue_authority(outside.context, RESOLVED, MAKE)
    metadata = {"name": SERVER.name, "namespace": SERVER.namespace, "uid": "uid-other"}
    other = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    outside.api.with_objects((SECRET, other))
    before = outside.api.objects[(SECRET, SERVER)]
    with pytest.raises(Transient, match="x-tls-server was replaced"):
        await issue_server_certificate(outside.context, RESOLVED, replace(ISSUE, uid=observed))
    assert outside.api.objects[(SECRET, SERVER)] == before
    assert not await known(outside, SERVER)


# sentence: the entries of the CA's Secret; None: it does not exist
UNUSABLE: dict[str, dict[str, bytes] | None] = {
    "it was deleted": None,
    "its key is missing": {"ca.crt": make_authority("x", gen.NOW).certificate},
    "its content is invalid": {"ca.crt": b"garbage", "ca.key": b"garbage"},
    "its key has an unsupported type": {
        "ca.crt": key_files.certificate(RSA.public_key()),
        "ca.key": key_files.key_pem(RSA),
    },
    "its key is too large": {
        "ca.crt": make_authority("x", gen.NOW).certificate,
        "ca.key": key_files.key_pem(key_files.rsa_key(10240)),
    },
}


@pytest.mark.parametrize("files", UNUSABLE.values(), ids=UNUSABLE.keys())
async def test_a_ca_that_became_invalid_is_read_again(
    files: dict[str, bytes] | None,
) -> None:
    outside = Outside()
    await issue_authority(outside.context, RESOLVED, MAKE)
    live = outside.api.objects.pop((SECRET, CA))
    if files is not None:
        data = {name: base64.b64encode(content).decode() for name, content in files.items()}
        outside.api.with_objects((SECRET, {**live, "data": data}))
    with pytest.raises(Transient, match="x-tls-ca"):
        await issue_server_certificate(outside.context, RESOLVED, ISSUE)
    assert (SECRET, SERVER) not in outside.api.objects
    assert not await known(outside, CA)


async def test_a_secret_that_became_immutable_is_read_again() -> None:
    """Then the plan reports it, instead of an error of the API server."""
    outside = Outside()
    await issue_authority(outside.context, RESOLVED, MAKE)
    await issue_server_certificate(outside.context, RESOLVED, ISSUE)
    outside.api.refuse("apply Secret x-tls-server", api_error(422))
    renewal = replace(ISSUE, uid=uid_of(outside.api.objects[(SECRET, SERVER)]))
    with pytest.raises(Transient, match="x-tls-server cannot be written"):
        await issue_server_certificate(outside.context, RESOLVED, renewal)
    assert not await known(outside, SERVER)
