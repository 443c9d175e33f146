"""What the rules about spec.unseal refuse."""

from typing import Any

from tests.contracts.api.case import Broken, Case, cases_of

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


_BROKEN: Broken = {
    ("static-key-file", "spec.unseal.static.currentKey"): {
        "a key file without a credentials Secret": {
            "unseal": {"static": {"currentKey": "file:///etc/bao/unseal/other"}}
        }
    },
    ("system-secret", "spec.unseal.credentialsSecretRef.name"): {
        "the operator's own Secret as credentials": {
            "unseal": {"credentialsSecretRef": {"name": "other-unseal-key"}}
        },
        "a later key of the operator as credentials": {
            "unseal": {"credentialsSecretRef": {"name": "other.2-unseal-key"}}
        },
    },
    ("static-seal-version", "spec.version"): {
        "a static seal on a server without one": {"version": "2.3.9"}
    },
    ("seal-block", "spec.unseal"): {"a seal without its settings": {"unseal": {"type": "awskms"}}},
    ("seal-other-block", "spec.unseal"): {
        "the settings of two seals": {
            "unseal": {"type": "awskms", "awskms": _AWS, "transit": _TRANSIT}
        },
        "settings of another seal with the static one": {"unseal": {"awskms": _AWS}},
    },
    ("transit-client", "spec.unseal.transit"): {
        "a transit certificate without a key": transit(tlsClientCert="/etc/bao/seal-creds/tls.crt")
    },
    ("pkcs11-place", "spec.unseal.pkcs11"): {
        "neither slot nor token": pkcs11(slot=None),
        "slot and token": pkcs11(tokenLabel="t"),
    },
    ("pkcs11-variable", "spec.unseal.pkcs11.runtime.env[0].name"): {
        "a variable that loads other code": _runtime(env=[{"name": "LD_PRELOAD", "secretKey": "x"}])
    },
    ("pkcs11-variable", "spec.unseal.pkcs11.runtime.fileEnv[0].name"): {
        "a variable of the server": _runtime(fileEnv=[{"name": "BAO_ADDR", "secretKey": "x"}])
    },
    ("kms-config", "spec.unseal.kms.config"): {
        "an attribute that is no name": {
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
        }
    },
}

CASES: dict[str, Case] = {
    **cases_of(_BROKEN),
    "another seal": Case("seal-immutable", "spec.unseal.type", transit(), before={}),
    "another key file under the same id": Case(
        "static-key-id",
        "spec.unseal.static.currentKeyID",
        {"unseal": {**_OWN_FILES, "static": {"currentKey": "file:///etc/bao/unseal/other"}}},
        before={"unseal": _OWN_FILES},
    ),
    "a Secret for the static key that is set later": Case(
        "static-secret-immutable",
        "spec.unseal.credentialsSecretRef",
        {"unseal": _OWN_FILES},
        before={"unseal": _STATIC},
    ),
    **{
        f"a transit address {what}": Case(
            "transit-address", "spec.unseal.transit.address", transit(address=address)
        )
        for what, address in {
            "without TLS": "http://kms.example.com",
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
}
_BROKEN_IN_CODE: Broken = {
    ("seal-plugin", "spec.unseal.type"): {
        "a cloud seal on a server that has it no more": {
            "version": "2.7.0",
            "unseal": {"type": "awskms", "awskms": _AWS},
        }
    },
    ("kmip-fields", "spec.unseal.kmip.kmsKeyID"): {
        "a KMIP seal without a key": {
            "unseal": {
                "type": "kmip",
                "kmip": {
                    "address": "kmip.example.com:5696",
                    "certificate": "/etc/bao/seal-creds/tls.crt",
                    "key": "/etc/bao/seal-creds/tls.key",
                },
            }
        }
    },
    ("ocikms-login", "spec.unseal.ocikms.authTypeAPIKey"): {
        "a Secret for an OCI login as the instance": {
            "unseal": {
                "type": "ocikms",
                "ocikms": {**_OCI, "authType": "instance"},
                "credentialsSecretRef": {"name": "mine"},
            }
        }
    },
    ("pkcs11-variable-twice", "spec.unseal.pkcs11.runtime.fileEnv[0].name"): {
        "a variable twice": _runtime(
            env=[{"name": "CONF", "secretKey": "a"}], fileEnv=[{"name": "CONF", "secretKey": "b"}]
        )
    },
    ("kms-plugin", "spec.unseal.kms.pluginName"): {
        "a plugin that is not there": {"unseal": {"type": "kms", "kms": {"pluginName": "other"}}}
    },
}

CODE_CASES = cases_of(_BROKEN_IN_CODE)
