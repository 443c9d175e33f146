"""contracts.hcl.seals: the server reads every attribute, and every field is rendered."""

from typing import Any

import pytest

from contracts.api.cluster.seal import Unseal
from contracts.hcl.seals import ATTRIBUTES, block, seal_stanza, static_stanza
from contracts.unseal_keys import KeyRing, UnsealKey
from tests.contracts.hcl.server_seals import ACCEPTED, GENERAL

FULL: dict[str, tuple[str, dict[str, Any]]] = {
    "transit": (
        "transit",
        {
            "address": "https://kms.example.com", "token": "t", "keyName": "k",
            "mountPath": "transit/", "namespace": "n", "disableRenewal": True,
            "tlsCACert": "/etc/bao/seal-creds/ca.crt",
            "tlsClientCert": "/etc/bao/seal-creds/tls.crt",
            "tlsClientKey": "/etc/bao/seal-creds/tls.key", "tlsServerName": "s",
            "tlsSkipVerify": False,
        },
    ),
    "awskms": (
        "awskms",
        {
            "region": "r", "kmsKeyID": "k", "endpoint": "https://e", "accessKey": "a",
            "secretKey": "s", "sessionToken": "t",
        },
    ),
    "azurekeyvault": (
        "azureKeyVault",
        {
            "vaultName": "v", "keyName": "k", "tenantID": "t", "clientID": "c",
            "clientSecret": "s", "resource": "r", "environment": "e",
        },
    ),
    "gcpckms": (
        "gcpCloudKMS",
        {
            "project": "p", "region": "r", "keyRing": "g", "cryptoKey": "k",
            "credentials": "/etc/bao/seal-creds/c.json",
        },
    ),
    "kmip": (
        "kmip",
        {
            "endpoint": "e:1", "kmsKeyID": "k", "clientCert": "/etc/bao/seal-creds/tls.crt",
            "clientKey": "/etc/bao/seal-creds/tls.key", "caCert": "/etc/bao/seal-creds/ca.crt",
            "serverName": "s", "timeout": 3, "encryptAlg": "AES_GCM", "tls12Ciphers": "c",
            "disabled": True,
        },
    ),
    "ocikms": (
        "ocikms",
        {
            "keyID": "k", "cryptoEndpoint": "https://c", "managementEndpoint": "https://m",
            "authTypeAPIKey": True, "disabled": True,
        },
    ),
    "pkcs11": (
        "pkcs11",
        {
            "lib": "/lib.so", "slot": "1", "tokenLabel": "t", "pin": "p", "keyLabel": "k",
            "keyID": "i", "mechanism": "0x1087", "disableSoftwareEncryption": True,
            "rsaOAEPHash": "sha256", "disabled": True,
        },
    ),
}  # fmt: skip


def unseal(seal: str, **changes: Any) -> Unseal:
    field, fields = FULL[seal]
    return Unseal.model_validate({"type": seal, field: {**fields, **changes}})


def seal_attributes(spec: Unseal) -> dict[str, object]:
    stanza = seal_stanza(spec)
    return {name: value for name, value in stanza.attributes.items() if value is not None}


@pytest.mark.parametrize("seal", ATTRIBUTES)
def test_b31_the_server_reads_every_attribute(seal: str) -> None:
    assert set(ATTRIBUTES[seal]) <= ACCEPTED[seal] | GENERAL


@pytest.mark.parametrize("seal", FULL)
def test_every_field_that_is_set_is_an_attribute(seal: str) -> None:
    attributes = seal_attributes(unseal(seal))
    assert set(attributes) == set(ATTRIBUTES[seal])
    assert len(attributes) == len(FULL[seal][1])
    assert all(isinstance(value, str) for value in attributes.values())


@pytest.mark.parametrize("seal", FULL)
def test_a_field_that_is_not_set_is_not_written(seal: str) -> None:
    spec = unseal(seal)
    chosen = block(spec)
    assert chosen is not None
    optional = [n for n, f in type(chosen).model_fields.items() if not f.is_required()]
    bare = chosen.model_copy(update=dict.fromkeys(optional))
    field = Unseal.model_fields
    name = next(n for n in field if field[n].alias == FULL[seal][0])
    left = seal_attributes(spec.model_copy(update={name: bare}))
    assert len(left) == sum(f.is_required() for f in type(chosen).model_fields.values())


def test_booleans_are_rendered_as_strings() -> None:
    assert seal_attributes(unseal("transit"))["tls_skip_verify"] == "false"
    assert seal_attributes(unseal("pkcs11"))["disable_software_encryption"] == "true"


def test_b31_older_spellings_reach_the_server_by_their_new_names() -> None:
    january = {
        "kmip": {
            "address": "e:1",
            "certificate": "/etc/bao/seal-creds/tls.crt",
            "key": "/etc/bao/seal-creds/tls.key",
            "tlsServerName": "s",
            "kmsKeyID": "k",
        }
    }
    assert seal_attributes(Unseal.model_validate({"type": "kmip", **january})) == {
        "endpoint": "e:1",
        "kms_key_id": "k",
        "client_cert": "/etc/bao/seal-creds/tls.crt",
        "client_key": "/etc/bao/seal-creds/tls.key",
        "server_name": "s",
    }


@pytest.mark.parametrize(
    ("auth_type", "written_as"),
    [("api_key", "true"), ("apikey", "true"), ("API_KEY", "true"), ("instance", None)],
)
def test_the_deprecated_oci_login_is_translated(auth_type: str, written_as: str | None) -> None:
    spec = unseal("ocikms", authTypeAPIKey=None, authType=auth_type)
    assert seal_attributes(spec).get("auth_type_api_key") == written_as


def test_a_static_seal_names_one_key_or_two() -> None:
    old, new = UnsealKey("one", "key"), UnsealKey("two", "key-2")
    assert static_stanza(KeyRing(old)).attributes == {
        "current_key": "file:///etc/bao/unseal/key",
        "current_key_id": "one",
    }
    attributes = static_stanza(KeyRing(new, old)).attributes
    assert attributes.keys() == ACCEPTED["static"]
    assert attributes == {
        "current_key": "file:///etc/bao/unseal/key-2",
        "current_key_id": "two",
        "previous_key": "file:///etc/bao/unseal/key",
        "previous_key_id": "one",
    }


def test_a_plugin_gets_its_attributes_in_a_stable_order() -> None:
    spec = Unseal.model_validate(
        {"type": "kms", "kms": {"pluginName": "mine", "config": {"b": "2", "a": "1"}}}
    )
    stanza = seal_stanza(spec)
    assert (stanza.type, list(stanza.attributes.items())) == ("mine", [("a", "1"), ("b", "2")])


def test_a_seal_without_settings_is_an_error() -> None:
    with pytest.raises(ValueError, match="no block for the seal awskms"):
        seal_stanza(Unseal.model_validate({"type": "awskms"}))
