"""Rules about an OpenBaoRestore that go beyond the shape of one field.

Uses contracts.api.rules.snapshot_store and the models. Called by contracts.api.schema.restore,
which writes them into the CRD, and by managers.restore, which checks them again: an object may be
older than a rule, and what profile Hardened requires is known only with the cluster.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from contracts.api.cluster.cluster_template import ClusterTemplate
from contracts.api.cluster.snapshot_store import BackupTarget
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.restore import OpenBaoRestore
from contracts.api.rules.hardened_network import store_offences
from contracts.api.rules.immutable import fixed_spec
from contracts.api.rules.rule import (
    BrokenOf,
    CelReason,
    Offence,
    RuleOf,
    broken_rules,
    either,
    is_set,
)
from contracts.api.rules.secrets import SYSTEM_NAME, SYSTEM_SECRET_MESSAGE
from contracts.api.rules.snapshot_store import DOTS, target_rules
from contracts.api.values.field_path import value_at, values_at
from contracts.api.violation import Violation, shown

Rule: TypeAlias = RuleOf[OpenBaoRestore]
Find = Callable[[OpenBaoRestore], Iterator[Offence]]

_SOURCE = "spec.source"
_TARGET = f"{_SOURCE}.target"
_TEMPLATE = "spec.clusterTemplate"
REFERENCES = (
    f"{_TARGET}.credentialsSecretRef",
    "spec.tokenSecretRef",
    f"{_TEMPLATE}.imagePullSecrets[]",
    f"{_TEMPLATE}.unseal.credentialsSecretRef",
)
"""Every reference of a restore to a Secret; a test holds it against the model."""
_FORBIDDEN: CelReason = "FieldValueForbidden"
_REQUIRED: CelReason = "FieldValueRequired"


def _now(find: Find) -> BrokenOf[OpenBaoRestore]:
    return lambda new, old: find(new)


def _target(restore: OpenBaoRestore) -> BackupTarget | None:
    return restore.spec.source.target


def _source(restore: OpenBaoRestore) -> Iterator[Offence]:
    source = restore.spec.source
    by_key = (source.target is not None, source.key is not None)
    if by_key not in ({True: (False, False), False: (True, True)}[source.backup is not None],):
        yield _SOURCE, None


def _key(restore: OpenBaoRestore) -> Iterator[Offence]:
    key = restore.spec.source.key
    if key is not None and DOTS.found_in(key):
        yield f"{_SOURCE}.key", key


def _override(restore: OpenBaoRestore) -> Iterator[Offence]:
    if restore.spec.override_operation_lock and not restore.spec.force:
        yield "spec.overrideOperationLock", True


def _lifecycle(restore: OpenBaoRestore) -> Iterator[Offence]:
    spec = restore.spec
    if spec.target_lifecycle and spec.cluster_template is None:
        yield "spec.targetLifecycle", spec.target_lifecycle


def _cleanup(restore: OpenBaoRestore) -> Iterator[Offence]:
    spec = restore.spec
    if spec.cleanup_after_seconds and spec.target_lifecycle != "Disposable":
        yield "spec.cleanupAfterSeconds", spec.cleanup_after_seconds


def _template(find: Callable[[OpenBaoRestore, ClusterTemplate], bool], field: str) -> Find:
    """The offence of a restore into a fresh cluster, at a field of the spec."""

    def offences(restore: OpenBaoRestore) -> Iterator[Offence]:
        template = restore.spec.cluster_template
        if template is not None and find(restore, template):
            yield f"spec.{field}", value_at(restore.spec, field)

    return offences


def _login(restore: OpenBaoRestore) -> Iterator[Offence]:
    spec = restore.spec
    if spec.cluster_template and (spec.token_secret_ref or spec.jwt_auth_role):
        yield _TEMPLATE, None


def _plain_tls(_: OpenBaoRestore, template: ClusterTemplate) -> bool:
    return template.tls is not None and not template.tls.enabled


def _other_version(restore: OpenBaoRestore, template: ClusterTemplate) -> bool:
    expected = restore.spec.source.expected_version
    return None not in (template.version, expected) and template.version != expected


def _keyless_static(_: OpenBaoRestore, template: ClusterTemplate) -> bool:
    seal = template.unseal
    return seal is not None and seal.type == "static" and seal.credentials_secret_ref is None


def _plugins(restore: OpenBaoRestore) -> Iterator[Offence]:
    template = restore.spec.cluster_template
    for position, plugin in enumerate(template.plugins if template else ()):
        if plugin.get("type") != "kms":
            yield f"{_TEMPLATE}.plugins[{position}].type", plugin.get("type")


def _secret_rule(path: str) -> Rule:
    def find(restore: OpenBaoRestore) -> Iterator[Offence]:
        for field, reference in values_at(restore.spec, path.removeprefix("spec.")):
            if reference is not None and SYSTEM_NAME.found_in(reference.name):
                yield f"spec.{field}.name", reference.name

    return RuleOf(
        id=f"restore-secret-{path.removeprefix('spec.')}",
        at=path,
        field=f"{path}.name",
        message=SYSTEM_SECRET_MESSAGE,
        broken=_now(find),
        cel=f"!{SYSTEM_NAME.cel('self.name')}",
        got="self.name",
        reason=_FORBIDDEN,
    )


def _spec_rule(what: str, field: str, message: str, find: Find, cel: str, **more: Any) -> Rule:
    return RuleOf(
        id=f"restore-{what}",
        at="spec",
        field=f"spec.{field}",
        message=message,
        broken=_now(find),
        cel=cel,
        **more,
    )


_FRESH = "!has(self.clusterTemplate) || "
_TEMPLATE_VERSION = "clusterTemplate.version"
_EXPECTED = "source.expectedVersion"
_SEAL = "self.clusterTemplate.unseal"

RESTORE_RULES: tuple[Rule, ...] = (
    fixed_spec("restore", "make another OpenBaoRestore"),
    RuleOf(
        id="restore-source",
        at=_SOURCE,
        field=_SOURCE,
        message=(
            "must be either backup alone, or target and key; name the OpenBaoBackup, or the store "
            "and the key of the snapshot"
        ),
        broken=_now(_source),
        cel=(
            "has(self.backup) ? !has(self.target) && !has(self.key) : "
            "has(self.target) && has(self.key)"
        ),
    ),
    RuleOf(
        id="restore-key",
        at=f"{_SOURCE}.key",
        field=f"{_SOURCE}.key",
        message="must have no part of dots alone; copy the key from status.key of the backup",
        broken=_now(_key),
        cel=f"!{DOTS.cel('self')}",
        got="self",
    ),
    *target_rules("restore", _TARGET, _target),
    *map(_secret_rule, REFERENCES),
    _spec_rule(
        "override",
        "overrideOperationLock",
        "needs force, because it ends what works on the data now; set force, or wait",
        _override,
        f"!{either('overrideOperationLock', 'false')} || {either('force', 'false')}",
        reason=_FORBIDDEN,
    ),
    _spec_rule(
        "lifecycle",
        "targetLifecycle",
        "is only for a cluster that the restore makes; remove it or set clusterTemplate",
        _lifecycle,
        "!has(self.targetLifecycle) || has(self.clusterTemplate)",
        reason=_FORBIDDEN,
    ),
    _spec_rule(
        "cleanup",
        "cleanupAfterSeconds",
        "is only for targetLifecycle Disposable; remove it or set that",
        _cleanup,
        f"{either('cleanupAfterSeconds', '0')} == 0 || "
        f"""{either("targetLifecycle", "''")} == 'Disposable'""",
        reason=_FORBIDDEN,
    ),
    _spec_rule(
        "template-login",
        "clusterTemplate",
        "leaves no choice of login, because a fresh cluster knows the operator's own roles only; "
        "remove jwtAuthRole and tokenSecretRef",
        _login,
        f"{_FRESH}!(has(self.jwtAuthRole) || has(self.tokenSecretRef))",
        reason=_FORBIDDEN,
    ),
    _spec_rule(
        "template-tls",
        "clusterTemplate.tls.enabled",
        "must be true, because a restore sends every secret there is; remove it",
        _template(_plain_tls, "clusterTemplate.tls.enabled"),
        f"{either('clusterTemplate.tls.enabled', 'true')}",
        reason=_FORBIDDEN,
    ),
    _spec_rule(
        "template-version",
        _TEMPLATE_VERSION,
        "must be source.expectedVersion where both are set; remove one of them",
        _template(_other_version, _TEMPLATE_VERSION),
        f"!{is_set(_TEMPLATE_VERSION)} || !{is_set(_EXPECTED)} || "
        f"self.{_TEMPLATE_VERSION} == self.{_EXPECTED}",
        got=f"""{either(_TEMPLATE_VERSION, "''")}""",
    ),
    _spec_rule(
        "template-static",
        "clusterTemplate.unseal.credentialsSecretRef",
        "must be set for the static seal, because only the key of the snapshot's own cluster opens "
        "it; copy that key to a Secret of yours and name it",
        _template(_keyless_static, "clusterTemplate.unseal.credentialsSecretRef"),
        f"!{is_set('clusterTemplate.unseal')} || has({_SEAL}.credentialsSecretRef) || "
        f"(has({_SEAL}.type) && {_SEAL}.type != 'static')",
        reason=_REQUIRED,
    ),
    RuleOf(
        id="restore-template-plugins",
        at=f"{_TEMPLATE}.plugins",
        field=f"{_TEMPLATE}.plugins",
        message="must be of type kms, because the others are in the snapshot; remove them",
        broken=_now(_plugins),
    ),
)


def restore_violations(
    restore: OpenBaoRestore, old: OpenBaoRestore | None = None
) -> tuple[Violation, ...]:
    """What is wrong with a restore, in the order of the rules; empty when nothing is."""
    return tuple(broken_rules(RESTORE_RULES, restore, old))


def hardened_violations(restore: OpenBaoRestore, cluster: OpenBaoCluster) -> tuple[Violation, ...]:
    """What profile Hardened of the cluster refuses about the store that a restore reads."""
    target = restore.spec.source.target
    if cluster.spec.profile != "Hardened" or target is None:
        return ()
    return tuple(
        Violation(f"{_TARGET}.{field}".rstrip("."), shown(value), rule.id, rule.message)
        for rule, field, value in store_offences(target)
    )
