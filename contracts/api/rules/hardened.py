"""Rules of profile Hardened: those about servers and pods, and the list of all.

Uses contracts.api.rules.combinators; the rules about networks are in
contracts.api.rules.hardened_network. Collected by contracts.api.rules.cluster. The API server and
the operator check every rule; the operator creates nothing for a spec that breaks one.
"""

from contracts.api.rules import combinators
from contracts.api.rules.checks import either, is_set, it
from contracts.api.rules.hardened_network import NETWORK_RULES
from contracts.api.rules.rule import FORBIDDEN, Rule

REPLICAS_MIN = 3
_IN = "in profile Hardened"
_INLINE = (
    f"must not be set {_IN}, because every user who may read the cluster can read it; put it into "
    "the Secret of unseal.credentialsSecretRef"
)
_CONTEXT = "securityContext"


def _inline(what: str, field: str) -> Rule:
    return combinators.absent(f"inline-{what}", field, _INLINE)


def _flag(name: str, why: str) -> Rule:
    return combinators.false(
        f"flag-{name.lower()}",
        f"configuration.{name}",
        f"must not be true {_IN}, because {why}; remove it",
    )


_SERVER_RULES: tuple[Rule, ...] = (
    combinators.hardened(
        "replicas",
        "replicas",
        f"must be {REPLICAS_MIN} or more {_IN}; raise it",
        either("replicas", 3).at_least(REPLICAS_MIN),
    ),
    combinators.hardened(
        "tls-mode",
        "tls.mode",
        f"must be External or ACME {_IN}, so that the operator does not have the key of the "
        "certificate authority; change it or use profile Development",
        either("tls.mode", "OperatorManaged").differs("OperatorManaged"),
    ),
    combinators.hardened(
        "seal",
        "unseal.type",
        f"must not be static {_IN}, so that the unseal key is not stored with the data; choose "
        "another seal or use profile Development",
        either("unseal.type", "static").differs("static"),
    ),
    combinators.hardened(
        "self-init",
        "selfInit.enabled",
        f"must be true {_IN}, so that no root token is kept; add self-init requests or use profile "
        "Development",
        either("selfInit.enabled", False).is_true(),
        shows=lambda spec: bool(spec.self_init and spec.self_init.enabled),
    ),
    _inline("transit-token", "unseal.transit.token"),
    _inline("aws-secret-key", "unseal.awskms.secretKey"),
    _inline("aws-session-token", "unseal.awskms.sessionToken"),
    _inline("azure-client-secret", "unseal.azureKeyVault.clientSecret"),
    _inline("pkcs11-pin", "unseal.pkcs11.pin"),
    _inline("kms-config", "unseal.kms.config"),
    combinators.false(
        "generate-root",
        "configuration.listener.unauthenticatedGenerateRoot",
        f"must not be true {_IN}, because every client of the listener could start or cancel the "
        "generation of a root token; remove it",
    ),
    combinators.false(
        "transit-check",
        "unseal.transit.tlsSkipVerify",
        f"must not be true {_IN}, because an attacker in the network could replace keys; set "
        "tlsCACert",
    ),
    combinators.false(
        "kmip-check",
        "unseal.kmip.tlsSkipVerify",
        f"must not be true {_IN}, because an attacker in the network could replace keys; set "
        "caCert",
    ),
    _flag("detectDeadlocks", "it slows every lock of the server"),
    _flag("rawStorageEndpoint", "it gives access to the storage without policies"),
    _flag("introspectionEndpoint", "it exposes internal state of the server"),
    _flag("unsafeAllowAPIAuditCreation", "a client of the API could write files"),
    *(
        rule
        for block in ("imageVerification", "operatorImageVerification")
        for rule in (
            combinators.true(
                f"{block}-enabled",
                f"{block}.enabled",
                f"must not be false {_IN}, because an unsigned image could read the keys; "
                "set it to true",
            ),
            combinators.other_than(
                f"{block}-policy",
                f"{block}.failurePolicy",
                "Warn",
                f"must be Block {_IN}, because Warn does not block an image; change it",
            ),
        )
    ),
)


def _not_root(what: str, name: str) -> Rule:
    message = f"must not be 0 (root) {_IN}; choose another id or remove it"
    return combinators.other_than(what, f"{_CONTEXT}.{name}", 0, message, default=1)


def _not_unconfined(what: str, profile: str) -> Rule:
    return combinators.other_than(
        what,
        f"{_CONTEXT}.{profile}.type",
        "Unconfined",
        f"must not be Unconfined {_IN}; use RuntimeDefault or remove it",
    )


_POD_RULES: tuple[Rule, ...] = (
    _not_root("user", "runAsUser"),
    _not_root("group", "runAsGroup"),
    combinators.true(
        "non-root",
        f"{_CONTEXT}.runAsNonRoot",
        f"must not be false {_IN}, because the server does not need root; remove it",
    ),
    combinators.hardened(
        "sysctls",
        f"{_CONTEXT}.sysctls",
        f"must be empty {_IN}, because sysctls change kernel parameters; remove them",
        ~is_set(f"{_CONTEXT}.sysctls") | it(f"{_CONTEXT}.sysctls").size().equals(0),
        shows=None,
        reason=FORBIDDEN,
    ),
    combinators.absent(
        "windows",
        f"{_CONTEXT}.windowsOptions",
        f"must not be set {_IN}, because servers run on Linux; remove it",
    ),
    _not_unconfined("seccomp", "seccompProfile"),
    _not_unconfined("apparmor", "appArmorProfile"),
)

HARDENED_RULES: tuple[Rule, ...] = (*_SERVER_RULES, *_POD_RULES, *NETWORK_RULES)
