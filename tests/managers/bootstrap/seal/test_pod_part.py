"""managers.bootstrap.seal.pod_part: files and variables by reference, never by value."""

from typing import Any

import pytest

from contracts.api.cluster.seal import Unseal
from contracts.builders.pod_part import PodPart
from contracts.records.secrets import CredentialFacts
from contracts.unseal_keys import KeyRing
from managers.bootstrap.seal.pod_part import seal_part, with_mounted_authority
from tests import gen

TRANSIT = {"address": "https://kms.example.com", "keyName": "k", "mountPath": "m"}
GOOGLE = {"project": "p", "region": "r", "keyRing": "g", "cryptoKey": "k"}
HSM = {"lib": "/lib.so", "slot": "0", "keyLabel": "k"}
BLOCKS: dict[str, tuple[str, dict[str, Any]]] = {
    "transit": ("transit", TRANSIT),
    "awskms": ("awskms", {"region": "r", "kmsKeyID": "k"}),
    "azurekeyvault": ("azureKeyVault", {"vaultName": "v", "keyName": "k"}),
    "gcpckms": ("gcpCloudKMS", GOOGLE),
    "kmip": ("kmip", {"endpoint": "e:1", "kmsKeyID": "k"}),
    "ocikms": ("ocikms", {"keyID": "k", "cryptoEndpoint": "c", "managementEndpoint": "m"}),
    "pkcs11": ("pkcs11", HSM),
    "kms": ("kms", {"pluginName": "p"}),
}


def unseal(seal: str, *, secret: bool = True, **more: Any) -> Unseal:
    field, block = BLOCKS[seal]
    reference = {"credentialsSecretRef": {"name": "mine"}} if secret else {}
    return Unseal.model_validate({"type": seal, field: {**block, **more}, **reference})


def ring(text: str) -> KeyRing:
    return gen.present(KeyRing.parse(text))


def env(part: PodPart) -> dict[str, Any]:
    return {
        item["name"]: item.get("value") or item["valueFrom"]["secretKeyRef"] for item in part.env
    }


def sources(part: PodPart) -> list[Any]:
    (volume,) = part.volumes
    return [source["secret"] for source in volume["projected"]["sources"]]


def test_the_next_key_is_mounted_as_optional() -> None:
    part = seal_part("x", Unseal(), ring("one=key"))
    assert sources(part) == [
        {"name": "x-unseal-key", "items": [{"key": "key", "path": "key"}]},
        {"name": "x.2-unseal-key", "items": [{"key": "key", "path": "key-2"}], "optional": True},
    ]
    assert part.volumes[0]["projected"]["defaultMode"] == 0o440
    assert part.mounts == ({"name": "unseal", "mountPath": "/etc/bao/unseal", "readOnly": True},)
    assert part.env == ()

    both = sources(seal_part("x", Unseal(), ring("two=key-2,one=key")))
    assert [(source["name"], source.get("optional")) for source in both] == [
        ("x-unseal-key", None),
        ("x.2-unseal-key", None),
    ]


def test_a_supplied_secret_is_mounted_completely() -> None:
    spec = Unseal.model_validate({"credentialsSecretRef": {"name": "mine"}})
    assert sources(seal_part("x", spec, ring("one=a@f1"))) == [{"name": "mine"}]


# seal: variables from keys of the Secret, and whether each is optional
VARIABLES: dict[str, dict[str, bool]] = {
    "transit": {"VAULT_TRANSIT_SEAL_TOKEN": False},
    "awskms": dict.fromkeys(
        ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"), True
    ),
    "azurekeyvault": dict.fromkeys(
        (
            "AZURE_TENANT_ID",
            "AZURE_CLIENT_ID",
            "AZURE_CLIENT_SECRET",
            "AZURE_ENVIRONMENT",
            "AZURE_AD_RESOURCE",
        ),
        True,
    ),
    "gcpckms": {},
    "kmip": {},
    "ocikms": {},
    "pkcs11": {"BAO_HSM_PIN": True},
    "kms": {},
}


@pytest.mark.parametrize("seal", BLOCKS)
def test_a_secret_is_mounted_with_the_variables_of_its_seal(seal: str) -> None:
    part = seal_part("x", unseal(seal), None)
    assert part.volumes == (
        {"name": "seal-creds", "secret": {"secretName": "mine", "defaultMode": 0o440}},
    )
    assert part.mounts[0]["mountPath"] == "/etc/bao/seal-creds"
    referred = {k: v.get("optional", False) for k, v in env(part).items() if isinstance(v, dict)}
    assert referred == VARIABLES[seal]
    assert all(v["name"] == "mine" for v in env(part).values() if isinstance(v, dict))


@pytest.mark.parametrize("seal", BLOCKS)
def test_without_a_secret_nothing_is_mounted(seal: str) -> None:
    assert seal_part("x", unseal(seal, secret=False), None) == PodPart()


def test_a_variable_names_the_google_file_unless_the_spec_does() -> None:
    path = "/etc/bao/seal-creds/credentials.json"
    assert env(seal_part("x", unseal("gcpckms"), None)) == {"GOOGLE_APPLICATION_CREDENTIALS": path}
    named = unseal("gcpckms", credentials="/etc/bao/seal-creds/mine.json")
    assert seal_part("x", named, None).env == ()
    # An inline token replaces that of the Secret.
    assert seal_part("x", unseal("transit", token="t"), None).env == ()


def test_the_runtime_of_an_hsm_library() -> None:
    runtime = {
        "libraryPath": "/opt/hsm",
        "env": [{"name": "SLOT", "secretKey": "slot"}],
        "fileEnv": [{"name": "CONF", "secretKey": "hsm.conf"}],
    }
    variables = env(seal_part("x", unseal("pkcs11", runtime=runtime), None))
    assert variables["LD_LIBRARY_PATH"] == "/opt/hsm"
    assert variables["SLOT"] == {"name": "mine", "key": "slot"}
    assert variables["CONF"] == "/etc/bao/seal-creds/hsm.conf"


AUTHORITY = {"ca.crt": CredentialFacts(900, False, certificate=True)}


def test_a_ca_in_the_secret_is_trusted_if_it_exists() -> None:
    """The spec may reference a Secret without the file."""
    there = gen.secret("mine", of="a user", keys=AUTHORITY)
    trusting = gen.present(with_mounted_authority(unseal("transit"), there).transit)
    assert trusting.tls_ca_cert == "/etc/bao/seal-creds/ca.crt"
    for without in (gen.secret("mine", of="a user"), None):
        assert with_mounted_authority(unseal("transit"), without) == unseal("transit")


def test_a_ca_in_the_spec_has_precedence() -> None:
    named = unseal("transit", tlsCACert="/etc/bao/seal-creds/other.crt")
    assert with_mounted_authority(named, gen.secret("mine", keys=AUTHORITY)) == named
