"""Rules about an OpenBaoRestore that the schema of a field cannot express.

Uses contracts.api.rules.snapshot_store and the models. Called by contracts.api.schema.restore,
which writes them into the CRD, and by managers.restore, which checks them again: an object may be
older than a rule, and the rules of profile Hardened need the cluster.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.restore import OpenBaoRestore
from contracts.api.rules.checks import choose, either, group, has, is_set, it
from contracts.api.rules.combinators import immutable_spec, invalid_fields, prefix_rules, rule
from contracts.api.rules.hardened_network import invalid_store_fields
from contracts.api.rules.reserved_names import no_system_secret
from contracts.api.rules.rule import FORBIDDEN, REQUIRED, InvalidField, RuleOf, broken_rules
from contracts.api.rules.snapshot_store import DOTS, TARGET_RULES
from contracts.api.values.pattern import Pattern
from contracts.api.violation import Violation, format_value

_SOURCE = "spec.source"
_TARGET = f"{_SOURCE}.target"
_TEMPLATE = "spec.clusterTemplate"
REFERENCES = (
    f"{_TARGET}.credentialsSecretRef",
    "spec.tokenSecretRef",
    f"{_TEMPLATE}.imagePullSecrets[]",
    f"{_TEMPLATE}.unseal.credentialsSecretRef",
)
"""Every reference of a restore to a Secret; a test compares it with the model."""


_PLAIN = Pattern("^http://")
_IN_CLUSTER = Pattern(
    r"^http://([a-z0-9.-]+\.svc(\.cluster\.local)?|10(\.[0-9]{1,3}){3}|192\.168(\.[0-9]{1,3}){2}"
    r"|172\.(1[6-9]|2[0-9]|3[01])(\.[0-9]{1,3}){2}|\[f[cd][0-9a-f:]+\])(:[0-9]+)?(/|$)"
)
"""A URL with a Service or a private address as host."""


def _foreign_type(plugin: Mapping[str, Any]) -> Iterator[InvalidField]:
    if plugin.get("type") != "kms":
        yield "type", plugin.get("type")


_FRESH = has("clusterTemplate")
_VERSION, _EXPECTED = "clusterTemplate.version", "source.expectedVersion"
_STATIC_KEY = "clusterTemplate.unseal.credentialsSecretRef"

RESTORE_RULES: tuple[RuleOf[OpenBaoRestore], ...] = (
    immutable_spec("restore", "create another OpenBaoRestore"),
    rule(
        "restore-source",
        _SOURCE,
        "",
        "must have either backup, or target and key; set the OpenBaoBackup, or the store and the "
        "key of the snapshot",
        choose(has("backup"), ~has("target") & ~has("key"), has("target") & has("key")),
        shows=None,
    ),
    rule(
        "restore-key",
        f"{_SOURCE}.key",
        "",
        "must not have an element of only dots; copy the key from status.key of the backup",
        ~it().matches(DOTS),
        got=it(),
    ),
    *prefix_rules(TARGET_RULES, "restore", _TARGET),
    rule(
        "restore-endpoint-plain",
        f"{_TARGET}.endpoint",
        "",
        "must be https, unless its host is a Service (<name>.<namespace>.svc) or a private "
        "address, because the snapshot replaces all secrets; use https",
        ~it().matches(_PLAIN) | it().matches(_IN_CLUSTER),
        reason=FORBIDDEN,
    ),
    *(no_system_secret(f"restore-secret-{at.removeprefix('spec.')}", at) for at in REFERENCES),
    rule(
        "restore-override",
        "spec",
        "overrideOperationLock",
        "needs force, because it interrupts the current operation on the data; set force, or wait",
        ~either("overrideOperationLock", False).is_true() | either("force", False).is_true(),
        reason=FORBIDDEN,
    ),
    rule(
        "restore-lifecycle",
        "spec",
        "targetLifecycle",
        "is only for a cluster that the restore creates; remove it or set clusterTemplate",
        ~has("targetLifecycle") | _FRESH,
        reason=FORBIDDEN,
    ),
    rule(
        "restore-cleanup",
        "spec",
        "cleanupAfterSeconds",
        "is only for targetLifecycle Disposable; remove it or set targetLifecycle",
        either("cleanupAfterSeconds", 0).equals(0)
        | either("targetLifecycle", "").equals("Disposable"),
        reason=FORBIDDEN,
    ),
    rule(
        "restore-template-login",
        "spec",
        "clusterTemplate",
        "must not be combined with a login, because a new cluster has only the operator's roles; "
        "remove jwtAuthRole and tokenSecretRef",
        ~_FRESH | ~(has("jwtAuthRole") | has("tokenSecretRef")),
        shows=None,
        reason=FORBIDDEN,
    ),
    rule(
        "restore-template-tls",
        "spec",
        "clusterTemplate.tls.enabled",
        "must be true, because a restore sends all secrets; remove it",
        either("clusterTemplate.tls.enabled", True).is_true(),
        reason=FORBIDDEN,
    ),
    rule(
        "restore-template-version",
        "spec",
        _VERSION,
        "must be source.expectedVersion where both are set; remove one of them",
        ~is_set(_VERSION) | ~is_set(_EXPECTED) | it(_VERSION).equals(it(_EXPECTED)),
        got=either(_VERSION, ""),
    ),
    rule(
        "restore-template-static",
        "spec",
        _STATIC_KEY,
        "must be set for the static seal, because only the key of the snapshot's cluster decrypts "
        "it; copy that key to your own Secret and set its name",
        ~is_set("clusterTemplate.unseal")
        | has(_STATIC_KEY)
        | group(
            has("clusterTemplate.unseal.type") & it("clusterTemplate.unseal.type").differs("static")
        ),
        reason=REQUIRED,
    ),
    RuleOf(
        "restore-template-plugins",
        f"{_TEMPLATE}.plugins",
        f"{_TEMPLATE}.plugins",
        "must be of type kms, because the others are in the snapshot; remove them",
        invalid_fields(f"{_TEMPLATE}.plugins[]", _foreign_type),
    ),
)


def restore_violations(
    restore: OpenBaoRestore, old: OpenBaoRestore | None = None
) -> tuple[Violation, ...]:
    """Return the violations of a restore, in the order of the rules."""
    return tuple(broken_rules(RESTORE_RULES, restore, old))


def hardened_violations(restore: OpenBaoRestore, cluster: OpenBaoCluster) -> tuple[Violation, ...]:
    """Return the violations of profile Hardened of the cluster by the store of a restore."""
    target = restore.spec.source.target
    if cluster.spec.profile != "Hardened" or target is None:
        return ()
    return tuple(
        Violation(f"{_TARGET}.{field}".rstrip("."), format_value(value), rule.id, rule.message)
        for rule, field, value in invalid_store_fields(target)
    )
