"""What the rules of profile Hardened refuse about the servers and their pods."""

from typing import Any

from tests.contracts.api.case import TRANSIT, Broken, Case, cases_of, hardened_spec

_SECRET = {"credentialsSecretRef": {"name": "kms-login"}}
_AWS = {"region": "eu-central-1", "kmsKeyID": "alias/bao"}
_AZURE = {"vaultName": "v", "keyName": "k"}
_PKCS11 = {"lib": "/usr/lib/hsm.so", "slot": "0", "keyLabel": "k"}


def _seal(kind: str, block: str, fields: dict[str, Any]) -> dict[str, Any]:
    return hardened_spec(unseal={"type": kind, block: fields})


def _context(**fields: Any) -> dict[str, Any]:
    return hardened_spec(securityContext=fields)


def _flag(name: str) -> Case:
    return Case(
        f"hardened-flag-{name.lower()}",
        f"spec.configuration.{name}",
        hardened_spec(configuration={name: True}),
    )


def _image(block: str, rule: str, field: str, **fields: Any) -> Case:
    signed = {"enabled": True, "failurePolicy": "Block", "publicKey": PUBLIC_KEY, **fields}
    return Case(
        f"hardened-{block}-{rule}", f"spec.{block}.{field}", hardened_spec(**{block: signed})
    )


PUBLIC_KEY = """-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEOKmkXNC21CVx/N+hPHhHa/lLyt9y
Rl17nQyCCX38CSGU+h8+aHr0froT7C6dJlEvkV+hfbVSgzHVvzIDvKevPw==
-----END PUBLIC KEY-----
"""

_BROKEN: Broken = {
    ("hardened-replicas", "spec.replicas"): {
        "Hardened with two servers": hardened_spec(replicas=2)
    },
    ("hardened-tls-mode", "spec.tls.mode"): {
        "Hardened with the operator's certificates": hardened_spec(tls=None)
    },
    ("hardened-seal", "spec.unseal.type"): {
        "Hardened with a static seal": hardened_spec(unseal=None)
    },
    ("hardened-self-init", "spec.selfInit.enabled"): {
        "Hardened with a root token": hardened_spec(selfInit=None)
    },
    ("hardened-generate-root", "spec.configuration.listener.unauthenticatedGenerateRoot"): {
        "Hardened with unauthenticated generate-root": hardened_spec(
            version="2.5.3", configuration={"listener": {"unauthenticatedGenerateRoot": True}}
        )
    },
    ("hardened-inline-transit-token", "spec.unseal.transit.token"): {
        "Hardened with an inline token": _seal("transit", "transit", {**TRANSIT, "token": "t"})
    },
    ("hardened-inline-aws-secret-key", "spec.unseal.awskms.secretKey"): {
        "Hardened with an inline secret key": _seal("awskms", "awskms", {**_AWS, "secretKey": "s"})
    },
    ("hardened-inline-aws-session-token", "spec.unseal.awskms.sessionToken"): {
        "Hardened with an inline session token": _seal(
            "awskms", "awskms", {**_AWS, "sessionToken": "s"}
        )
    },
    ("hardened-inline-azure-client-secret", "spec.unseal.azureKeyVault.clientSecret"): {
        "Hardened with an inline client secret": _seal(
            "azurekeyvault", "azureKeyVault", {**_AZURE, "clientSecret": "s"}
        )
    },
    ("hardened-inline-pkcs11-pin", "spec.unseal.pkcs11.pin"): {
        "Hardened with an inline PIN": _seal("pkcs11", "pkcs11", {**_PKCS11, "pin": "1234"})
    },
    ("hardened-inline-kms-config", "spec.unseal.kms.config"): {
        "Hardened with settings of a plugin": {
            **_seal("kms", "kms", {"pluginName": "x", "config": {"a": "b"}}),
            "version": "2.7.0",
            "plugins": [{"type": "kms", "name": "x", "command": "x", "version": "v1"}],
        }
    },
    ("hardened-transit-check", "spec.unseal.transit.tlsSkipVerify"): {
        "Hardened with a transit server without TLS verification": _seal(
            "transit", "transit", {**TRANSIT, "tlsSkipVerify": True}
        )
    },
    ("hardened-kmip-check", "spec.unseal.kmip.tlsSkipVerify"): {
        "Hardened with a KMIP server without TLS verification": _seal(
            "kmip",
            "kmip",
            {
                "endpoint": "kmip.example.com:5696",
                "kmsKeyID": "1",
                "clientCert": "/etc/bao/seal-creds/tls.crt",
                "clientKey": "/etc/bao/seal-creds/tls.key",
                "tlsSkipVerify": True,
            },
        )
    },
    ("hardened-user", "spec.securityContext.runAsUser"): {
        "Hardened as root": _context(runAsUser=0)
    },
    ("hardened-group", "spec.securityContext.runAsGroup"): {
        "Hardened in the group of root": _context(runAsGroup=0)
    },
    ("hardened-non-root", "spec.securityContext.runAsNonRoot"): {
        "Hardened and allowed to be root": _context(runAsNonRoot=False)
    },
    ("hardened-sysctls", "spec.securityContext.sysctls"): {
        "Hardened with kernel parameters": _context(
            sysctls=[{"name": "net.core.somaxconn", "value": "1024"}]
        )
    },
    ("hardened-windows", "spec.securityContext.windowsOptions"): {
        "Hardened on Windows": _context(windowsOptions={"hostProcess": True})
    },
    ("hardened-seccomp", "spec.securityContext.seccompProfile.type"): {
        "Hardened with every system call": _context(seccompProfile={"type": "Unconfined"})
    },
    ("hardened-apparmor", "spec.securityContext.appArmorProfile.type"): {
        "Hardened without AppArmor": _context(appArmorProfile={"type": "Unconfined"})
    },
}

CASES: dict[str, Case] = {
    **cases_of(_BROKEN),
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
}
