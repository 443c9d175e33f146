"""Checks that the Secret of a seal contains what a pod needs before it starts.

Pure; checks only formats (`managers.bootstrap.seal.secret`). Called by managers.bootstrap.seal.gate
and managers.bootstrap.seal.condition. A server without this content exits immediately, and reports
the cause only in its log. The messages here name the field, the Secret, the key and the next step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from contracts.api.cluster.seal import Unseal
from contracts.naming.mount_paths import SEAL_CREDENTIALS
from contracts.records.secrets import CredentialFacts, SecretFacts
from managers.bootstrap.seal.pod_part import GOOGLE_FILE, PIN, TOKEN

REFERENCE = "spec.unseal.credentialsSecretRef.name"
AWS_PAIR = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
AZURE_CLIENT = ("AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET")
OCI_CONFIG = "config"

Keys = Mapping[str, CredentialFacts]
Problems = Iterator[str]


def problems(unseal: Unseal, secret: SecretFacts | None) -> tuple[str, ...]:
    """Return all known problems that prevent the start of servers with this seal.

    `secret` is the Secret of `credentialsSecretRef`; None if it does not exist. A static seal is
    not checked here: see managers.bootstrap.seal.gate.
    """
    if unseal.type == "static":
        return ()
    name = unseal.secret_name
    if name is not None and secret is None:
        return (f"{REFERENCE}: Secret {name} does not exist: create it with {_required(unseal)}",)
    keys: Keys = secret.keys if secret is not None else {}
    return tuple(CHECKS[unseal.type](unseal, name, keys))


def _required(unseal: Unseal) -> str:
    return REQUIRED.get(unseal.type, "the files that the seal requires")


def _missing(path: str, secret: str, key: str, content: str) -> str:
    return f"{path}: Secret {secret} has no key {key}: add it, with {content}"


# --- files --------------------------------------------------------------------------------------


def mounted_key(path: str | None) -> str | None:
    """Return the key of the Secret for a path in the pod; None for a path in another directory."""
    folder, _, key = (path or "").rpartition("/")
    return key if folder == SEAL_CREDENTIALS and key else None


def _file(field: str, path: str | None, secret: str | None, keys: Keys) -> Problems:
    """Check that a path of the spec is in the directory of the Secret, and that the file exists."""
    if path is None:
        return
    key = mounted_key(path)
    if key is None:
        yield (f"{field}: {path} is not in {SEAL_CREDENTIALS}, the only directory with your files")
    elif secret is None:
        yield (
            f"{field}: {path} requires a Secret: create one with the file under the key {key}, and "
            "set spec.unseal.credentialsSecretRef to it"
        )
    elif key not in keys:
        yield _missing(field, secret, key, "the file")
    elif keys[key].blank:
        yield f"{field}: key {key} of Secret {secret} is blank: store the file in it"
    elif keys[key].problem:
        yield f"{field}: key {key} of Secret {secret}: {keys[key].problem}"


def _readable(facts: CredentialFacts | None) -> CredentialFacts | None:
    """Return the facts of a file to check; None if it is missing or `_file` reports a problem."""
    return None if facts is None or facts.blank or facts.problem else facts


def _authority(field: str, path: str | None, secret: str | None, keys: Keys) -> Problems:
    yield from _file(field, path, secret, keys)
    facts = _readable(keys.get(mounted_key(path) or ""))
    if facts is not None and not facts.certificate:
        yield (
            f"{field}: key {mounted_key(path)} of Secret {secret} contains no PEM certificate that "
            "can be read: put the CA certificate there"
        )


def _pair(
    fields: tuple[str, str], paths: tuple[str | None, str | None], secret: str | None, keys: Keys
) -> Problems:
    certificate, private = (_readable(keys.get(mounted_key(path) or "")) for path in paths)
    for field, path in zip(fields, paths, strict=True):
        yield from _file(field, path, secret, keys)
    if certificate is None or private is None:
        return
    if not certificate.certificate:
        yield (
            f"{fields[0]}: key {mounted_key(paths[0])} of Secret {secret} contains no PEM "
            "certificate that can be read: put the client certificate there"
        )
    elif not private.public_key or private.certificate:
        yield (
            f"{fields[1]}: key {mounted_key(paths[1])} of Secret {secret} contains no PEM private "
            "key without a passphrase: put the key of the client certificate there"
        )
    elif certificate.public_key != private.public_key:
        yield (
            f"{fields[1]}: key {mounted_key(paths[1])} of Secret {secret} does not belong to the "
            f"certificate under {mounted_key(paths[0])}: put a matching pair there"
        )


# --- one function per seal ----------------------------------------------------------------------


def _transit(unseal: Unseal, secret: str | None, keys: Keys) -> Problems:
    seal = unseal.transit
    if seal is None:
        return
    at = "spec.unseal.transit"
    if seal.token is None:
        yield from _token(secret, keys)
    # A ca.crt in the Secret is trusted even if no field names it.
    authority = seal.tls_ca_cert
    if authority is None and "ca.crt" in keys:
        authority = f"{SEAL_CREDENTIALS}/ca.crt"
    yield from _authority(f"{at}.tlsCACert", authority, secret, keys)
    fields = (f"{at}.tlsClientCert", f"{at}.tlsClientKey")
    yield from _pair(fields, (seal.tls_client_cert, seal.tls_client_key), secret, keys)


def _token(secret: str | None, keys: Keys) -> Problems:
    if secret is None:
        yield (
            "spec.unseal.credentialsSecretRef: the seal transit requires a token: create a Secret "
            f"with the token under the key {TOKEN}, and set this field to it"
        )
    elif TOKEN not in keys:
        yield _missing(REFERENCE, secret, TOKEN, "a token for the sealing OpenBao")
    elif keys[TOKEN].blank:
        yield f"{REFERENCE}: key {TOKEN} of Secret {secret} is blank: store a token in it"
    elif keys[TOKEN].trailing_newline:
        yield (
            f"{REFERENCE}: key {TOKEN} of Secret {secret} ends with a newline, which would be sent "
            "as part of the token: write it without the newline (printf, not echo)"
        )


def _awskms(unseal: Unseal, secret: str | None, keys: Keys) -> Problems:
    if secret is None:
        return
    present = [name for name in AWS_PAIR if name in keys and not keys[name].blank]
    if len(present) == 1:
        other = next(name for name in AWS_PAIR if name not in present)
        yield _missing(REFERENCE, secret, other, f"the value that belongs to {present[0]}")


def _azurekeyvault(unseal: Unseal, secret: str | None, keys: Keys) -> Problems:
    if secret is None:
        return
    for name in AZURE_CLIENT:
        if name not in keys or keys[name].blank:
            yield _missing(REFERENCE, secret, name, "the value of your Azure client")


def _gcpckms(unseal: Unseal, secret: str | None, keys: Keys) -> Problems:
    seal = unseal.gcp_cloud_kms
    if seal is None or (secret is None and seal.credentials is None):
        return
    field = "spec.unseal.gcpCloudKMS.credentials"
    path = seal.credentials or f"{SEAL_CREDENTIALS}/{GOOGLE_FILE}"
    yield from _file(field, path, secret, keys)
    facts = _readable(keys.get(mounted_key(path) or ""))
    if facts is not None and not facts.json_object:
        yield (
            f"{field}: key {mounted_key(path)} of Secret {secret} is not a JSON object: put the "
            "credentials file of a service account there"
        )


def _kmip(unseal: Unseal, secret: str | None, keys: Keys) -> Problems:
    if unseal.kmip is None:
        return
    seal, at = unseal.kmip.newest(), "spec.unseal.kmip"
    fields = (f"{at}.clientCert", f"{at}.clientKey")
    yield from _pair(fields, (seal.client_cert, seal.client_key), secret, keys)
    yield from _authority(f"{at}.caCert", seal.ca_cert, secret, keys)


def _ocikms(unseal: Unseal, secret: str | None, keys: Keys) -> Problems:
    if secret is None:
        return
    facts = keys.get(OCI_CONFIG)
    if facts is not None and facts.problem:
        yield f"{REFERENCE}: key {OCI_CONFIG} of Secret {secret}: {facts.problem}"
        return
    if facts is None or facts.oci is None:
        yield _missing(REFERENCE, secret, OCI_CONFIG, "an OCI profile [DEFAULT]")
        return
    for entry in facts.oci.missing:
        yield (
            f"{REFERENCE}: the profile [DEFAULT] under {OCI_CONFIG} of Secret {secret} has no "
            f"{entry}: add it"
        )
    if facts.oci.key_file:
        field = f"{REFERENCE}: key_file of the profile under {OCI_CONFIG}"
        yield from _file(field, facts.oci.key_file, secret, keys)


def _pkcs11(unseal: Unseal, secret: str | None, keys: Keys) -> Problems:
    seal = unseal.pkcs11
    if seal is None:
        return
    if seal.pin is None and secret is None:
        yield (
            "spec.unseal.credentialsSecretRef: the seal pkcs11 requires the PIN of the token: "
            f"create a Secret with the PIN under the key {PIN}, and set this field to it"
        )
    elif seal.pin is None and secret is not None and (PIN not in keys or keys[PIN].blank):
        yield _missing(REFERENCE, secret, PIN, "the PIN of the token")
    runtime = seal.runtime
    for kind, sources in (("env", runtime.env), ("fileEnv", runtime.file_env)) if runtime else ():
        for position, source in enumerate(sources):
            field = f"spec.unseal.pkcs11.runtime.{kind}[{position}].secretKey"
            if secret is None:
                yield f"{field} requires a Secret: set spec.unseal.credentialsSecretRef"
            elif source.secret_key not in keys:
                yield _missing(field, secret, source.secret_key, f"the value of {source.name}")


def _kms(unseal: Unseal, secret: str | None, keys: Keys) -> Problems:
    # Only the plugin knows its requirements.
    yield from ()


CHECKS: Mapping[str, Callable[[Unseal, str | None, Keys], Problems]] = MappingProxyType(
    {
        "transit": _transit,
        "awskms": _awskms,
        "azurekeyvault": _azurekeyvault,
        "gcpckms": _gcpckms,
        "kmip": _kmip,
        "ocikms": _ocikms,
        "pkcs11": _pkcs11,
        "kms": _kms,
    }
)
REQUIRED: Mapping[str, str] = MappingProxyType(
    {
        "transit": f"the key {TOKEN}",
        "awskms": f"the keys {' and '.join(AWS_PAIR)}",
        "azurekeyvault": f"the keys {', '.join(AZURE_CLIENT)}",
        "gcpckms": f"the key {GOOGLE_FILE}",
        "ocikms": f"the key {OCI_CONFIG}",
        "pkcs11": f"the key {PIN}",
    }
)
