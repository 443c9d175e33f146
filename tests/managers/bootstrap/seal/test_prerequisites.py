"""managers.bootstrap.seal.prerequisites: each problem is named, with the next step."""

from collections.abc import Mapping
from typing import Any

import pytest

from contracts.api.cluster.seal import Unseal
from contracts.records.secrets import CredentialFacts, OciProfile
from managers.bootstrap.seal.prerequisites import CHECKS, problems
from tests import gen

CREDS = "/etc/bao/seal-creds"
TEXT = CredentialFacts(20, False)
BLANK = CredentialFacts(1, True, trailing_newline=True)
NEWLINE = CredentialFacts(20, False, trailing_newline=True)
JSON = CredentialFacts(20, False, json_object=True)
CERTIFICATE = CredentialFacts(900, False, certificate=True, public_key="a")
OTHERS = CredentialFacts(900, False, certificate=True, public_key="b")
PRIVATE = CredentialFacts(900, False, public_key="a")
REFUSED = CredentialFacts(900, False, problem="it has 9 lines, and up to 8 are read: cut it")
PROFILE = CredentialFacts(200, False, oci=OciProfile((), f"{CREDS}/api.pem"))

Keys = Mapping[str, CredentialFacts]
TRANSIT = {"address": "https://kms.example.com", "keyName": "k", "mountPath": "m"}
CLIENT = {"tlsClientCert": f"{CREDS}/tls.crt", "tlsClientKey": f"{CREDS}/tls.key"}
CLIENT_CERTIFICATE = {"clientCert": f"{CREDS}/tls.crt", "clientKey": f"{CREDS}/tls.key"}
KMIP = {"endpoint": "e:1", "kmsKeyID": "k", **CLIENT_CERTIFICATE}
GOOGLE = {"project": "p", "region": "r", "keyRing": "g", "cryptoKey": "k"}
ORACLE = {"keyID": "k", "cryptoEndpoint": "c", "managementEndpoint": "m", "authTypeAPIKey": True}
HSM = {"lib": "/lib.so", "slot": "0", "keyLabel": "k"}
AWS = {"region": "r", "kmsKeyID": "k"}
AZURE = {"vaultName": "v", "keyName": "k"}
AZURE_KEYS = {name: TEXT for name in ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET")}


def unseal(field: str, block: Mapping[str, Any], *, secret: bool = True) -> Unseal:
    seal = {"azureKeyVault": "azurekeyvault", "gcpCloudKMS": "gcpckms"}.get(field, field)
    reference = {"credentialsSecretRef": {"name": "mine"}} if secret else {}
    return Unseal.model_validate({"type": seal, field: block, **reference})


def problems_of(spec: Unseal, keys: Keys | None) -> tuple[str, ...]:
    return problems(spec, None if keys is None else gen.secret("mine", of="a user", keys=keys))


# sentence: (seal, keys of the Secret)
FINE: dict[str, tuple[Unseal, Keys | None]] = {
    "a static seal is not checked here": (Unseal(), None),
    "a token": (unseal("transit", TRANSIT), {"token": TEXT}),
    "a token and a CA": (unseal("transit", TRANSIT), {"token": TEXT, "ca.crt": CERTIFICATE}),
    "an inline token, no Secret": (
        unseal("transit", {**TRANSIT, "token": "t"}, secret=False),
        None,
    ),
    "a client certificate": (
        unseal("transit", {**TRANSIT, **CLIENT}),
        {"token": TEXT, "tls.crt": CERTIFICATE, "tls.key": PRIVATE},
    ),
    "AWS by the identity of the pod": (unseal("awskms", AWS, secret=False), None),
    "AWS pair": (unseal("awskms", AWS), {"AWS_ACCESS_KEY_ID": TEXT, "AWS_SECRET_ACCESS_KEY": TEXT}),
    "AWS by other files": (unseal("awskms", AWS), {"config": TEXT}),
    "Azure by the identity of the pod": (unseal("azureKeyVault", AZURE, secret=False), None),
    "Azure by a client": (unseal("azureKeyVault", AZURE), AZURE_KEYS),
    "Google by the identity of the pod": (unseal("gcpCloudKMS", GOOGLE, secret=False), None),
    "Google by a file": (unseal("gcpCloudKMS", GOOGLE), {"credentials.json": JSON}),
    "Google by another file": (
        unseal("gcpCloudKMS", {**GOOGLE, "credentials": f"{CREDS}/mine.json"}),
        {"mine.json": JSON},
    ),
    "KMIP by a certificate": (unseal("kmip", KMIP), {"tls.crt": CERTIFICATE, "tls.key": PRIVATE}),
    "KMIP with the older field names": (
        unseal(
            "kmip",
            {
                "address": "e:1",
                "kmsKeyID": "k",
                "certificate": f"{CREDS}/tls.crt",
                "key": f"{CREDS}/tls.key",
            },
        ),
        {"tls.crt": CERTIFICATE, "tls.key": PRIVATE},
    ),
    "Oracle as the instance": (unseal("ocikms", ORACLE, secret=False), None),
    "Oracle by a profile": (unseal("ocikms", ORACLE), {"config": PROFILE, "api.pem": PRIVATE}),
    "a PIN": (unseal("pkcs11", HSM), {"BAO_HSM_PIN": TEXT}),
    "an inline PIN": (unseal("pkcs11", {**HSM, "pin": "1"}, secret=False), None),
    "a plugin has no known requirements": (unseal("kms", {"pluginName": "p"}), {}),
}


@pytest.mark.parametrize(("spec", "keys"), FINE.values(), ids=FINE.keys())
def test_valid_secret(spec: Unseal, keys: Keys | None) -> None:
    assert problems_of(spec, keys) == ()


RUNTIME = {**HSM, "runtime": {"fileEnv": [{"name": "CONF", "secretKey": "hsm.conf"}]}}
# sentence: (seal, keys of the Secret, words of the one message)
MISSING: dict[str, tuple[Unseal, Keys | None, tuple[str, ...]]] = {
    "no Secret": (
        unseal("transit", TRANSIT),
        None,
        ("spec.unseal.credentialsSecretRef.name", "Secret mine does not exist", "the key token"),
    ),
    "no reference and no token": (
        unseal("transit", TRANSIT, secret=False),
        None,
        ("spec.unseal.credentialsSecretRef", "requires a token"),
    ),
    "no token": (unseal("transit", TRANSIT), {}, ("Secret mine has no key token", "add")),
    "a blank token": (unseal("transit", TRANSIT), {"token": BLANK}, ("token", "is blank")),
    "a token with a newline": (
        unseal("transit", TRANSIT),
        {"token": NEWLINE},
        ("ends with a newline", "printf"),
    ),
    "an invalid CA": (
        unseal("transit", TRANSIT),
        {"token": TEXT, "ca.crt": TEXT},
        ("spec.unseal.transit.tlsCACert", "ca.crt of Secret mine", "no PEM certificate"),
    ),
    "a file in another directory": (
        unseal("transit", {**TRANSIT, "tlsCACert": "/etc/ssl/ca.crt"}),
        {"token": TEXT},
        ("spec.unseal.transit.tlsCACert", "/etc/ssl/ca.crt", CREDS),
    ),
    "a file outside of the directory, with dots": (
        unseal("transit", {**TRANSIT, "tlsCACert": f"{CREDS}/../unseal/key"}),
        {"token": TEXT},
        ("spec.unseal.transit.tlsCACert", "the only directory"),
    ),
    "a file without a Secret": (
        unseal("transit", {**TRANSIT, "token": "t", "tlsCACert": f"{CREDS}/ca.crt"}, secret=False),
        None,
        ("spec.unseal.transit.tlsCACert", "requires a Secret"),
    ),
    "a certificate and a key that do not match": (
        unseal("transit", {**TRANSIT, **CLIENT}),
        {"token": TEXT, "tls.crt": OTHERS, "tls.key": PRIVATE},
        ("spec.unseal.transit.tlsClientKey", "does not belong to the certificate under tls.crt"),
    ),
    "an invalid private key": (
        unseal("transit", {**TRANSIT, **CLIENT}),
        {"token": TEXT, "tls.crt": CERTIFICATE, "tls.key": TEXT},
        ("spec.unseal.transit.tlsClientKey", "no PEM private key"),
    ),
    "an invalid client certificate": (
        unseal("kmip", KMIP),
        {"tls.crt": TEXT, "tls.key": PRIVATE},
        ("spec.unseal.kmip.clientCert", "no PEM certificate"),
    ),
    "half a pair for AWS": (
        unseal("awskms", AWS),
        {"AWS_ACCESS_KEY_ID": TEXT},
        ("Secret mine has no key AWS_SECRET_ACCESS_KEY",),
    ),
    "a client for Azure without its secret": (
        unseal("azureKeyVault", AZURE),
        {**AZURE_KEYS, "AZURE_CLIENT_SECRET": BLANK},
        ("AZURE_CLIENT_SECRET",),
    ),
    "no file for Google": (
        unseal("gcpCloudKMS", GOOGLE),
        {},
        ("spec.unseal.gcpCloudKMS.credentials", "Secret mine has no key credentials.json"),
    ),
    "no JSON for Google": (
        unseal("gcpCloudKMS", GOOGLE),
        {"credentials.json": TEXT},
        ("spec.unseal.gcpCloudKMS.credentials", "not a JSON object"),
    ),
    "no certificate for KMIP": (
        unseal("kmip", KMIP),
        {"tls.key": PRIVATE},
        ("spec.unseal.kmip.clientCert", "Secret mine has no key tls.crt"),
    ),
    "a file beyond a limit for Google": (
        unseal("gcpCloudKMS", GOOGLE),
        {"credentials.json": REFUSED},
        ("spec.unseal.gcpCloudKMS.credentials: key credentials.json of Secret mine", "up to 8"),
    ),
    "a private key beyond a limit": (
        unseal("transit", {**TRANSIT, **CLIENT}),
        {"token": TEXT, "tls.crt": CERTIFICATE, "tls.key": REFUSED},
        ("spec.unseal.transit.tlsClientKey: key tls.key of Secret mine", "up to 8"),
    ),
    "an authority beyond a limit": (
        unseal("transit", TRANSIT),
        {"token": TEXT, "ca.crt": REFUSED},
        ("spec.unseal.transit.tlsCACert: key ca.crt of Secret mine", "up to 8"),
    ),
    "a profile beyond a limit for Oracle": (
        unseal("ocikms", ORACLE),
        {"config": REFUSED},
        ("key config of Secret mine", "up to 8"),
    ),
    "no profile for Oracle": (unseal("ocikms", ORACLE), {}, ("Secret mine has no key config",)),
    "half a profile for Oracle": (
        unseal("ocikms", ORACLE),
        {"config": CredentialFacts(9, False, oci=OciProfile(("user",), ""))},
        ("[DEFAULT]", "has no user"),
    ),
    "a profile whose key is in another directory": (
        unseal("ocikms", ORACLE),
        {"config": CredentialFacts(9, False, oci=OciProfile((), "~/.oci/api.pem"))},
        ("key_file of the profile", "~/.oci/api.pem"),
    ),
    "no PIN": (unseal("pkcs11", HSM), {}, ("Secret mine has no key BAO_HSM_PIN",)),
    "no PIN and no Secret": (
        unseal("pkcs11", HSM, secret=False),
        None,
        ("spec.unseal.credentialsSecretRef", "BAO_HSM_PIN"),
    ),
    "no file for the library": (
        unseal("pkcs11", RUNTIME),
        {"BAO_HSM_PIN": TEXT},
        ("spec.unseal.pkcs11.runtime.fileEnv[0].secretKey", "Secret mine has no key hsm.conf"),
    ),
}


@pytest.mark.parametrize(("spec", "keys", "words"), MISSING.values(), ids=MISSING.keys())
def test_problem(spec: Unseal, keys: Keys | None, words: tuple[str, ...]) -> None:
    (message,) = problems_of(spec, keys)
    for word in words:
        assert word in message


def test_every_seal_except_static_has_a_check() -> None:
    seals = set(Unseal.model_fields["type"].annotation.__args__)  # type: ignore[union-attr]
    assert set(CHECKS) == seals - {"static"}
