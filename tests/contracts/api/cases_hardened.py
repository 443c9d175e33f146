"""What the rules of profile Hardened refuse about the servers and their pods."""

from typing import Any

from tests.contracts.api.case import TRANSIT, Case, hardened

_SECRET = {"credentialsSecretRef": {"name": "kms-login"}}
_AWS = {"region": "eu-central-1", "kmsKeyID": "alias/bao"}
_AZURE = {"vaultName": "v", "keyName": "k"}
_PKCS11 = {"lib": "/usr/lib/hsm.so", "slot": "0", "keyLabel": "k"}


def _seal(kind: str, block: str, fields: dict[str, Any]) -> dict[str, Any]:
    return hardened(unseal={"type": kind, block: fields})


def _context(**fields: Any) -> dict[str, Any]:
    return hardened(securityContext=fields)


def _flag(name: str) -> Case:
    return Case(
        f"hardened-flag-{name.lower()}",
        f"spec.configuration.{name}",
        hardened(configuration={name: True}),
    )


def _image(block: str, rule: str, field: str, **fields: Any) -> Case:
    signed = {"enabled": True, "failurePolicy": "Block", "publicKey": PUBLIC_KEY, **fields}
    return Case(f"hardened-{block}-{rule}", f"spec.{block}.{field}", hardened(**{block: signed}))


PUBLIC_KEY = """-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEOKmkXNC21CVx/N+hPHhHa/lLyt9y
Rl17nQyCCX38CSGU+h8+aHr0froT7C6dJlEvkV+hfbVSgzHVvzIDvKevPw==
-----END PUBLIC KEY-----
"""

CASES: dict[str, Case] = {
    "Hardened with two servers": Case("hardened-replicas", "spec.replicas", hardened(replicas=2)),
    "Hardened with the operator's certificates": Case(
        "hardened-tls-mode", "spec.tls.mode", hardened(tls=None)
    ),
    "Hardened with a static seal": Case("hardened-seal", "spec.unseal.type", hardened(unseal=None)),
    "Hardened with a root token": Case(
        "hardened-self-init", "spec.selfInit.enabled", hardened(selfInit=None)
    ),
    "Hardened with root tokens for who has no login": Case(
        "hardened-generate-root",
        "spec.configuration.listener.unauthenticatedGenerateRoot",
        hardened(
            version="2.5.3", configuration={"listener": {"unauthenticatedGenerateRoot": True}}
        ),
    ),
    "Hardened with an inline token": Case(
        "hardened-inline-transit-token",
        "spec.unseal.transit.token",
        _seal("transit", "transit", {**TRANSIT, "token": "t"}),
    ),
    "Hardened with an inline secret key": Case(
        "hardened-inline-aws-secret-key",
        "spec.unseal.awskms.secretKey",
        _seal("awskms", "awskms", {**_AWS, "secretKey": "s"}),
    ),
    "Hardened with an inline session token": Case(
        "hardened-inline-aws-session-token",
        "spec.unseal.awskms.sessionToken",
        _seal("awskms", "awskms", {**_AWS, "sessionToken": "s"}),
    ),
    "Hardened with an inline client secret": Case(
        "hardened-inline-azure-client-secret",
        "spec.unseal.azureKeyVault.clientSecret",
        _seal("azurekeyvault", "azureKeyVault", {**_AZURE, "clientSecret": "s"}),
    ),
    "Hardened with an inline PIN": Case(
        "hardened-inline-pkcs11-pin",
        "spec.unseal.pkcs11.pin",
        _seal("pkcs11", "pkcs11", {**_PKCS11, "pin": "1234"}),
    ),
    "Hardened with settings of a plugin": Case(
        "hardened-inline-kms-config",
        "spec.unseal.kms.config",
        {
            **_seal("kms", "kms", {"pluginName": "x", "config": {"a": "b"}}),
            "version": "2.7.0",
            "plugins": [{"type": "kms", "name": "x", "command": "x", "version": "v1"}],
        },
    ),
    "Hardened with a sealing server that nobody checks": Case(
        "hardened-transit-check",
        "spec.unseal.transit.tlsSkipVerify",
        _seal("transit", "transit", {**TRANSIT, "tlsSkipVerify": True}),
    ),
    "Hardened with a KMIP server that nobody checks": Case(
        "hardened-kmip-check",
        "spec.unseal.kmip.tlsSkipVerify",
        _seal(
            "kmip",
            "kmip",
            {
                "endpoint": "kmip.example.com:5696",
                "kmsKeyID": "1",
                "clientCert": "/etc/bao/seal-creds/tls.crt",
                "clientKey": "/etc/bao/seal-creds/tls.key",
                "tlsSkipVerify": True,
            },
        ),
    ),
    "Hardened with deadlock detection": _flag("detectDeadlocks"),
    "Hardened with raw storage": _flag("rawStorageEndpoint"),
    "Hardened with introspection": _flag("introspectionEndpoint"),
    "Hardened with audit devices by API": _flag("unsafeAllowAPIAuditCreation"),
    "Hardened with unsigned images": _image(
        "imageVerification", "enabled", "enabled", enabled=False
    ),
    "Hardened with a warning about images": _image(
        "imageVerification", "policy", "failurePolicy", failurePolicy="Warn"
    ),
    "Hardened with unsigned helpers": _image(
        "operatorImageVerification", "enabled", "enabled", enabled=False
    ),
    "Hardened with a warning about helpers": _image(
        "operatorImageVerification", "policy", "failurePolicy", failurePolicy="Warn"
    ),
    "Hardened as root": Case(
        "hardened-user", "spec.securityContext.runAsUser", _context(runAsUser=0)
    ),
    "Hardened in the group of root": Case(
        "hardened-group", "spec.securityContext.runAsGroup", _context(runAsGroup=0)
    ),
    "Hardened and allowed to be root": Case(
        "hardened-non-root", "spec.securityContext.runAsNonRoot", _context(runAsNonRoot=False)
    ),
    "Hardened with kernel parameters": Case(
        "hardened-sysctls",
        "spec.securityContext.sysctls",
        _context(sysctls=[{"name": "net.core.somaxconn", "value": "1024"}]),
    ),
    "Hardened on Windows": Case(
        "hardened-windows",
        "spec.securityContext.windowsOptions",
        _context(windowsOptions={"hostProcess": True}),
    ),
    "Hardened with every system call": Case(
        "hardened-seccomp",
        "spec.securityContext.seccompProfile.type",
        _context(seccompProfile={"type": "Unconfined"}),
    ),
    "Hardened without AppArmor": Case(
        "hardened-apparmor",
        "spec.securityContext.appArmorProfile.type",
        _context(appArmorProfile={"type": "Unconfined"}),
    ),
}
