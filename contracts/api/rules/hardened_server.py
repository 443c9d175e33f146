"""What profile Hardened refuses about the servers: their number, first boot, seal and settings.

Uses contracts.api.rules.combinators. Collected by contracts.api.rules.hardened.
"""

from collections.abc import Iterator

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules import combinators
from contracts.api.rules.rule import Offence, Rule, either

REPLICAS_MIN = 3
_IN = "in profile Hardened"
_INLINE = (
    f"must not be set {_IN}, because everybody who may read the cluster reads it; put it into the "
    "Secret of unseal.credentialsSecretRef"
)


def _replicas(cluster: OpenBaoCluster) -> Iterator[Offence]:
    if cluster.spec.replicas < REPLICAS_MIN:
        yield "spec.replicas", cluster.spec.replicas


def _tls_mode(cluster: OpenBaoCluster) -> Iterator[Offence]:
    if cluster.spec.tls.mode == "OperatorManaged":
        yield "spec.tls.mode", cluster.spec.tls.mode


def _seal(cluster: OpenBaoCluster) -> Iterator[Offence]:
    if cluster.spec.unseal.type == "static":
        yield "spec.unseal.type", cluster.spec.unseal.type


def _self_init(cluster: OpenBaoCluster) -> Iterator[Offence]:
    if not (cluster.spec.self_init and cluster.spec.self_init.enabled):
        yield "spec.selfInit.enabled", False


def _inline(what: str, field: str) -> Rule:
    return combinators.absent(f"inline-{what}", field, _INLINE)


def _flag(name: str, why: str) -> Rule:
    return combinators.false(
        f"flag-{name.lower()}",
        f"configuration.{name}",
        f"must not be true {_IN}, because {why}; remove it",
    )


_OWN, _STATIC = "'OperatorManaged'", "'static'"

SERVER_RULES: tuple[Rule, ...] = (
    combinators.hardened(
        "replicas",
        "spec.replicas",
        f"must be {REPLICAS_MIN} or more {_IN}; raise it",
        _replicas,
        f"{either('replicas', '3')} >= {REPLICAS_MIN}",
        "FieldValueInvalid",
    ),
    combinators.hardened(
        "tls-mode",
        "spec.tls.mode",
        f"must be External or ACME {_IN}, so that the operator does not hold the key of the "
        "certificate authority; change it or use profile Development",
        _tls_mode,
        f"{either('tls.mode', _OWN)} != {_OWN}",
        "FieldValueInvalid",
    ),
    combinators.hardened(
        "seal",
        "spec.unseal.type",
        f"must not be static {_IN}, so that the unseal key does not lie beside the data; choose "
        "another seal or use profile Development",
        _seal,
        f"{either('unseal.type', _STATIC)} != {_STATIC}",
        "FieldValueInvalid",
    ),
    combinators.hardened(
        "self-init",
        "spec.selfInit.enabled",
        f"must be true {_IN}, so that no root token is kept; add self-init requests or use profile "
        "Development",
        _self_init,
        either("selfInit.enabled", "false"),
        "FieldValueInvalid",
    ),
    _inline("transit-token", "unseal.transit.token"),
    _inline("aws-secret-key", "unseal.awskms.secretKey"),
    _inline("aws-session-token", "unseal.awskms.sessionToken"),
    _inline("azure-client-secret", "unseal.azureKeyVault.clientSecret"),
    _inline("pkcs11-pin", "unseal.pkcs11.pin"),
    _inline("kms-config", "unseal.kms.config"),
    combinators.false(
        "transit-check",
        "unseal.transit.tlsSkipVerify",
        f"must not be true {_IN}, because anybody on the way could hand out keys; give tlsCACert",
    ),
    combinators.false(
        "kmip-check",
        "unseal.kmip.tlsSkipVerify",
        f"must not be true {_IN}, because anybody on the way could hand out keys; give caCert",
    ),
    _flag("detectDeadlocks", "it slows every lock of the server"),
    _flag("rawStorageEndpoint", "it opens the storage below all policies"),
    _flag("introspectionEndpoint", "it shows the inside of the server"),
    _flag("unsafeAllowAPIAuditCreation", "whoever may call the API could write files"),
    *(
        rule
        for block in ("imageVerification", "operatorImageVerification")
        for rule in (
            combinators.true(
                f"{block}-enabled",
                f"{block}.enabled",
                f"must not be false {_IN}, because an image nobody signed would hold the keys; "
                "switch it on",
            ),
            combinators.other_than(
                f"{block}-policy",
                f"{block}.failurePolicy",
                "Warn",
                f"must be Block {_IN}, because a warning stops no image; change it",
            ),
        )
    ),
)
