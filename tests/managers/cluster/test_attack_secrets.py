"""T10: no Secret of a tenant blocks the operator, and the message names the exceeded limit.

While a file is parsed nothing else runs, for any cluster. So no expensive file reaches a library:
the message is that of our rule, and not that of the library.
"""

import base64
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from managers.certs.x509 import issue_server, make_authority
from runtime.builtin_kinds import SECRET
from runtime.outcome import Blocked
from runtime.types import Object
from tests import gen
from tests.gen import key_files
from tests.managers.cluster.bench import Bench, running_bench

CREDENTIALS = "/etc/bao/seal-creds"
AUTHORITY = make_authority("x", gen.NOW)
SERVER = issue_server(AUTHORITY, ("openbao-cluster-x.local",), (), gen.NOW)
HUGE = key_files.rsa_key(10240)
LARGEST = key_files.rsa_key(8192)


def secret(name: str, **data: bytes) -> Object:
    """A Secret of a user; `_` in a name means a dot."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": gen.NAMESPACE, "uid": f"uid-{name}"},
        "data": {
            key.replace("_", "."): base64.b64encode(value).decode() for key, value in data.items()
        },
    }


def cluster_with_seal(kind: str, field: str, **block: object) -> gen.Cluster:
    """A cluster whose seal uses the files of the Secret `mine`."""
    wish = {"type": kind, field: block, "credentialsSecretRef": {"name": "mine"}}
    return gen.cluster(unseal=wish)


TRANSIT = cluster_with_seal(
    "transit",
    "transit",
    address="https://kms.example.com",
    keyName="k",
    mountPath="m",
    token="t",
    tlsClientCert=f"{CREDENTIALS}/tls.crt",
    tlsClientKey=f"{CREDENTIALS}/tls.key",
)
GOOGLE = cluster_with_seal(
    "gcpckms", "gcpCloudKMS", project="p", region="r", keyRing="g", cryptoKey="k"
)
ORACLE = cluster_with_seal(
    "ocikms",
    "ocikms",
    keyID="k",
    cryptoEndpoint="https://c.example.com",
    managementEndpoint="https://m.example.com",
    authTypeAPIKey=True,
)
EXTERNAL = gen.cluster(tls={"mode": "External"})


def client(key: bytes, certificate: bytes = b"") -> Object:
    of_key = certificate or key_files.certificate(key_files.SIGNER.public_key())
    return secret("mine", tls_crt=of_key, tls_key=key)


def server(key: bytes, certificate: bytes = SERVER.certificate) -> Object:
    return secret("x-tls-server", tls_crt=certificate, tls_key=key, ca_crt=AUTHORITY.certificate)


CA = secret("x-tls-ca", ca_crt=AUTHORITY.certificate)


def chain_of(count: int) -> bytes:
    """That many CAs with one name, none of which is the issuer."""
    public = ec.generate_private_key(ec.SECP256R1()).public_key()
    return b"".join(
        key_files.certificate(public, "root", ca=True, serial=n) for n in range(1, count + 1)
    )


UNKNOWN_CURVE = key_files.other_curve(key_files.key_pem(key_files.SIGNER))
STRANGE = key_files.other_curve(key_files.certificate(key_files.SIGNER.public_key()))
LONG = b"[DEFAULT]\na" + b" " * 300_000 + b"b\n"

HUGE_PEM, SIGNER = key_files.key_pem(HUGE), key_files.key_pem(key_files.SIGNER)
DSA, DIFFIE_HELLMAN = key_files.dsa_pem(12_000), key_files.diffie_hellman_pem(12_000)
BITS = ("tls.key", "10240 bits", "up to 8192", "ECDSA")
NO_KIND = ("tls.key", "none of RSA, ECDSA")
BLOCKS = ("tls.crt", "500 PEM blocks", "up to 256")

# sentence: (cluster, Secret, words of the message)
SEALS: dict[str, tuple[gen.Cluster, Object, tuple[str, ...]]] = {
    "an RSA key of 10,240 bits": (TRANSIT, client(HUGE_PEM), BITS),
    "the same in the older form": (TRANSIT, client(key_files.key_pem(HUGE, older=True)), BITS),
    "a DSA key": (TRANSIT, client(DSA), NO_KIND),
    "a Diffie-Hellman key": (TRANSIT, client(DIFFIE_HELLMAN), NO_KIND),
    "a curve that no library knows": (
        TRANSIT,
        client(UNKNOWN_CURVE),
        ("tls.key", "no PEM private key", "put the key"),
    ),
    "a certificate with such a curve": (
        TRANSIT,
        client(SIGNER, STRANGE),
        ("tls.crt", "no PEM certificate", "put the client certificate"),
    ),
    "500 certificates": (TRANSIT, client(SIGNER, SERVER.certificate * 500), BLOCKS),
    "JSON that is deep": (
        GOOGLE,
        secret("mine", credentials_json=key_files.deep_json(900)),
        ("32 levels", "reduce the nesting"),
    ),
    "JSON that is deeper than the limit of decoders": (
        GOOGLE,
        secret("mine", credentials_json=key_files.deep_json(9_000)),
        ("9000 values", "up to 1000"),
    ),
    "JSON of many bytes": (
        GOOGLE,
        secret("mine", credentials_json=b'{"a": "' + b"b" * 300_000 + b'"}'),
        ("300009 bytes", "up to 65536"),
    ),
    "an endless profile": (ORACLE, secret("mine", config=LONG), ("300013 bytes", "up to 65536")),
}


@pytest.mark.parametrize(("cluster", "live", "words"), SEALS.values(), ids=SEALS)
async def test_attack_t10_a_file_of_a_seal_is_refused_and_named(
    cluster: gen.Cluster, live: Object, words: tuple[str, ...]
) -> None:
    bench = Bench(cluster)
    bench.api.with_objects((SECRET, live))
    outcome = gen.expect(Blocked, await bench.until_quiet())
    assert outcome.reason == "PrerequisitesMissing"
    message = condition(bench, "Stalled")["message"]
    assert message == outcome.message
    for word in ("spec.unseal", "Secret mine", *words):
        assert word in message


# sentence: (Secret of the server, words of the message)
SERVERS: dict[str, tuple[Object, tuple[str, ...]]] = {
    "an RSA key of 10,240 bits": (server(HUGE_PEM), BITS),
    "a DSA key": (server(DSA), NO_KIND),
    "a Diffie-Hellman key": (server(DIFFIE_HELLMAN), NO_KIND),
    "a curve that no library knows": (server(UNKNOWN_CURVE), ("tls.key", "not supported")),
    "500 certificates": (server(SERVER.key, SERVER.certificate * 500), BLOCKS),
    "a file of 600,000 bytes": (
        server(SERVER.key, SERVER.certificate + b"#" * 600_000),
        ("tls.crt", "bytes", "up to 524288"),
    ),
}


@pytest.mark.parametrize(("live", "words"), SERVERS.values(), ids=SERVERS)
async def test_attack_t10_a_file_of_a_server_is_refused_and_named(
    live: Object, words: tuple[str, ...]
) -> None:
    bench = Bench(EXTERNAL)
    bench.api.with_objects((SECRET, live), (SECRET, CA))
    assert gen.expect(Blocked, await bench.until_quiet()).reason == "TLSSecretInvalid"
    message = condition(bench, "TLSReady")["message"]
    for word in ("Secret x-tls-server", *words):
        assert word in message


async def test_attack_t10_cas_of_one_name_are_tried_a_few_times() -> None:
    """Each costs a signature check, and a chain may have eight links."""
    leaf = key_files.certificate(
        key_files.SIGNER.public_key(), "openbao-cluster-x.local", issuer="root"
    )
    live = secret("x-tls-server", tls_crt=leaf, tls_key=SIGNER, ca_crt=chain_of(200))
    bench = Bench(EXTERNAL)
    bench.api.with_objects((SECRET, live), (SECRET, CA))
    assert isinstance(await bench.until_quiet(), Blocked)
    for word in ("Secret x-tls-server", "200 certificates", "CN=root", "up to 4"):
        assert word in condition(bench, "TLSReady")["message"]


async def test_the_largest_allowed_key_is_accepted() -> None:
    certificate = key_files.certificate(LARGEST.public_key())
    bench = Bench(TRANSIT)
    bench.api.with_objects((SECRET, client(key_files.key_pem(LARGEST), certificate)))
    outcome = await bench.until_quiet()
    assert getattr(outcome, "reason", "") == "FirstBoot"


async def test_attack_t10_a_running_cluster_keeps_serving() -> None:
    """An oversize file in its Secret is reported, and no pod changes."""
    good = key_files.certificate(LARGEST.public_key())
    bench = await running_bench(TRANSIT, client(key_files.key_pem(LARGEST), good))
    bench.api.with_objects((SECRET, client(HUGE_PEM)))
    await bench.until_quiet(after=gen.INSTALLATION.secret_recheck)
    assert "10240 bits" in condition(bench, "Stalled")["message"]
    assert condition(bench, "Available")["status"] == "True"


def condition(bench: Bench, kind: str) -> dict[str, Any]:
    """The whole condition of that kind."""
    conditions: list[dict[str, Any]] = bench.cluster["status"]["conditions"]
    return next(condition for condition in conditions if condition["type"] == kind)
