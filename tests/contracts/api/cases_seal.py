"""What the rules about spec.unseal refuse."""

from typing import Any

from tests.contracts.api.case import Case

_STATIC = {"type": "static"}
_TRANSIT = {"address": "https://kms.example.com:8200", "keyName": "k", "mountPath": "transit/"}
_PKCS11 = {"lib": "/usr/lib/softhsm/libsofthsm2.so", "keyLabel": "k", "slot": "0"}
_OCI = {"keyID": "ocid1.key", "cryptoEndpoint": "https://c", "managementEndpoint": "https://m"}
_AWS = {"region": "eu-central-1", "kmsKeyID": "alias/k"}
_OWN_FILES = {**_STATIC, "credentialsSecretRef": {"name": "mine"}}


def transit(**fields: Any) -> dict[str, Any]:
    """A spec with the seal transit; None removes a field."""
    block = {key: value for key, value in {**_TRANSIT, **fields}.items() if value is not None}
    return {"unseal": {"type": "transit", "transit": block}}


def pkcs11(**fields: Any) -> dict[str, Any]:
    """A spec with the seal pkcs11; None removes a field."""
    block = {key: value for key, value in {**_PKCS11, **fields}.items() if value is not None}
    return {"unseal": {"type": "pkcs11", "pkcs11": block}}


def _runtime(**lists: Any) -> dict[str, Any]:
    return pkcs11(runtime=lists)


CASES: dict[str, Case] = {
    "another seal": Case("seal-immutable", "spec.unseal.type", transit(), before={}),
    "another key file under the same id": Case(
        "static-key-id",
        "spec.unseal.static.currentKeyID",
        {"unseal": {**_OWN_FILES, "static": {"currentKey": "file:///etc/bao/unseal/other"}}},
        before={"unseal": _OWN_FILES},
    ),
    "a file of a Secret that nobody named": Case(
        "static-key-file",
        "spec.unseal.static.currentKey",
        {"unseal": {"static": {"currentKey": "file:///etc/bao/unseal/other"}}},
    ),
    "a Secret for the static key that is set later": Case(
        "static-secret-immutable",
        "spec.unseal.credentialsSecretRef",
        {"unseal": _OWN_FILES},
        before={"unseal": _STATIC},
    ),
    "the operator's own Secret as credentials": Case(
        "system-secret",
        "spec.unseal.credentialsSecretRef.name",
        {"unseal": {"credentialsSecretRef": {"name": "other-unseal-key"}}},
    ),
    "a later key of the operator as credentials": Case(
        "system-secret",
        "spec.unseal.credentialsSecretRef.name",
        {"unseal": {"credentialsSecretRef": {"name": "other.2-unseal-key"}}},
    ),
    "a static seal on a server without one": Case(
        "static-seal-version", "spec.version", {"version": "2.3.9"}
    ),
    "a seal without its settings": Case(
        "seal-block", "spec.unseal", {"unseal": {"type": "awskms"}}
    ),
    "the settings of two seals": Case(
        "seal-other-block",
        "spec.unseal",
        {"unseal": {"type": "awskms", "awskms": _AWS, "transit": _TRANSIT}},
    ),
    "settings of a seal beside the static one": Case(
        "seal-other-block", "spec.unseal", {"unseal": {"awskms": _AWS}}
    ),
    **{
        f"a transit address {what}": Case(
            "transit-address", "spec.unseal.transit.address", transit(address=address)
        )
        for what, address in {
            "in the clear": "http://kms.example.com",
            "with a user": "https://u@kms.example.com",
            "with a query": "https://kms.example.com?a=b",
            "with a fragment": "https://kms.example.com#a",
            "with a path": "https://kms.example.com/v1",
            "of the pod itself": "https://localhost:8200",
            "of the loopback": "https://127.0.0.1:8200",
            "of the IPv6 loopback": "https://[::1]:8200",
            "of the metadata service": "https://169.254.169.254",
            "in hexadecimal digits": "https://0x7f000001",
            "as one number": "https://2130706433",
            "with a zone": "https://[fe80::1%25eth0]:8200",
        }.items()
    },
    "a transit certificate without a key": Case(
        "transit-client",
        "spec.unseal.transit",
        transit(tlsClientCert="/etc/bao/seal-creds/tls.crt"),
    ),
    "neither slot nor token": Case("pkcs11-place", "spec.unseal.pkcs11", pkcs11(slot=None)),
    "slot and token": Case("pkcs11-place", "spec.unseal.pkcs11", pkcs11(tokenLabel="t")),
    "a variable that loads other code": Case(
        "pkcs11-variable",
        "spec.unseal.pkcs11.runtime.env[0].name",
        _runtime(env=[{"name": "LD_PRELOAD", "secretKey": "x"}]),
    ),
    "a variable of the server": Case(
        "pkcs11-variable",
        "spec.unseal.pkcs11.runtime.fileEnv[0].name",
        _runtime(fileEnv=[{"name": "BAO_ADDR", "secretKey": "x"}]),
    ),
    "an attribute that is no name": Case(
        "kms-config",
        "spec.unseal.kms.config",
        {
            "version": "2.6.0",
            "plugins": [
                {
                    "type": "kms",
                    "name": "mine",
                    "image": "registry.example.com/mine",
                    "version": "v1.0.0",
                    "binaryName": "mine",
                    "sha256sum": "ab" * 32,
                }
            ],
            "unseal": {"type": "kms", "kms": {"pluginName": "mine", "config": {"a b": "c"}}},
        },
    ),
}
CODE_CASES: dict[str, Case] = {
    "a cloud seal on a server that has it no more": Case(
        "seal-plugin",
        "spec.unseal.type",
        {"version": "2.7.0", "unseal": {"type": "awskms", "awskms": _AWS}},
    ),
    "a KMIP seal without a key": Case(
        "kmip-fields",
        "spec.unseal.kmip.kmsKeyID",
        {
            "unseal": {
                "type": "kmip",
                "kmip": {
                    "address": "kmip.example.com:5696",
                    "certificate": "/etc/bao/seal-creds/tls.crt",
                    "key": "/etc/bao/seal-creds/tls.key",
                },
            }
        },
    ),
    "a Secret for an OCI login as the instance": Case(
        "ocikms-login",
        "spec.unseal.ocikms.authTypeAPIKey",
        {
            "unseal": {
                "type": "ocikms",
                "ocikms": {**_OCI, "authType": "instance"},
                "credentialsSecretRef": {"name": "mine"},
            }
        },
    ),
    "a variable twice": Case(
        "pkcs11-variable-twice",
        "spec.unseal.pkcs11.runtime.fileEnv[0].name",
        _runtime(
            env=[{"name": "CONF", "secretKey": "a"}], fileEnv=[{"name": "CONF", "secretKey": "b"}]
        ),
    ),
    "a plugin that is not there": Case(
        "kms-plugin",
        "spec.unseal.kms.pluginName",
        {"unseal": {"type": "kms", "kms": {"pluginName": "other"}}},
    ),
}
