"""The policies about OpenBaoBackup and OpenBaoRestore: who may create them, and who may report
results.

Uses the tables of this package. Collected by contracts.admission.policies. The CRDs have the rules
about the values of a spec and that it is immutable (contracts.api.rules.backup_object,
contracts.api.rules.restore).
"""

from typing import Final

from contracts.admission.cel import BEFORE, IS_CHANGE, IS_NOT_OPERATOR, NOW, text
from contracts.admission.clusters import SPECS, gate_validation, use_validation
from contracts.admission.policy import PREFIX, AdmissionPolicy, Match, NamedExpression, Validation
from contracts.admission.referenced_objects import RESTORE_USES
from contracts.admission.secrets import RESTORE_REFERENCES, RESTORE_SECRETS, secret_variables
from contracts.admission.verb_gated_fields import (
    CLOUD_IDENTITIES,
    CUSTOM_EXECUTABLES,
    RESTORE,
    RESTORE_GATES,
)
from contracts.api.group import BACKUPS, CLUSTERS, GROUP, RESTORES, VERSION
from contracts.naming import labels

OF_SCHEDULE: Final = r"^-[0-9]{8}-[0-9]{6}$"
"""The suffix after the cluster's name in the name of a scheduled backup."""

_NOT_OPERATOR: Final = NamedExpression("not-the-operator", IS_NOT_OPERATOR)
_ORIGIN = f"{NOW}.?origin.orValue('Manual')"
_NAME = "object.metadata.?name.orValue('')"

VALIDATE_BACKUP = AdmissionPolicy(
    name="validate-openbaobackup",
    why="Users create manual backups only; the operator creates scheduled ones.",
    matches=(Match(GROUP, (BACKUPS.plural,), ("CREATE",), (VERSION,), scope="Namespaced"),),
    conditions=(_NOT_OPERATOR,),
    variables=(NamedExpression(NOW.removeprefix("variables."), "dyn(object.spec)"),),
    validations=(
        Validation(
            rule_id="backup-origin",
            field="spec.origin",
            expression=f"{_ORIGIN} == 'Manual'",
            message="must be Manual: only the operator creates other backups; remove the field",
        ),
        Validation(
            rule_id="backup-name",
            field="metadata.name",
            expression=(
                f"!{_NAME}.startsWith({NOW}.cluster) || "
                f"!{_NAME}.substring(size({NOW}.cluster)).matches(r'{OF_SCHEDULE}')"
            ),
            message=(
                "must not be <cluster>-<date>-<time>, because the schedule uses these names; "
                "choose another name"
            ),
        ),
    ),
)

_CLUSTER = f"string({NOW}.cluster)"
_ACKNOWLEDGED = f"metadata.?annotations[?'{labels.RESTORE_ACKNOWLEDGE}'].orValue('')"
_CHANGES_ACKNOWLEDGEMENT = (
    f"object.{_ACKNOWLEDGED} != (request.operation == 'CREATE' ? '' : oldObject.{_ACKNOWLEDGED})"
)
_MAY_CREATE = (
    f"authorizer.group({text(GROUP)}).resource({text(CLUSTERS.plural)})"
    f".namespace(request.namespace).name({_CLUSTER}).check('create').allowed()"
)

VALIDATE_RESTORE = AdmissionPolicy(
    name="validate-openbaorestore",
    why="Permissions that the writer of a restore requires, and those to resolve an unknown "
    "outcome.",
    matches=(
        Match(GROUP, (RESTORES.plural,), ("CREATE", "UPDATE"), (VERSION,), scope="Namespaced"),
    ),
    conditions=(
        NamedExpression("asks-or-decides", f"{IS_CHANGE} || {_CHANGES_ACKNOWLEDGEMENT}"),
        _NOT_OPERATOR,
    ),
    variables=(
        *SPECS,
        *(
            NamedExpression(verb.variable, verb.allowed(_CLUSTER))
            for verb in (CUSTOM_EXECUTABLES, CLOUD_IDENTITIES, RESTORE)
        ),
        *secret_variables(RESTORE_REFERENCES),
    ),
    validations=(
        Validation(
            rule_id="restore",
            field="spec.cluster",
            expression=f"variables.{RESTORE.variable}",
            message=(
                f"needs the verb {RESTORE.name} on that OpenBaoCluster, because a restore replaces "
                "all its data, logins and policies; ask an administrator for ClusterRole "
                f"{PREFIX}{RESTORE.role}"
            ),
        ),
        Validation(
            rule_id="create-clusterTemplate",
            field="spec.clusterTemplate",
            expression=(
                f"!{NOW}.?clusterTemplate.hasValue() || {BEFORE}.?clusterTemplate.hasValue() || "
                f"{_MAY_CREATE}"
            ),
            message=(
                f"needs the verb create on {CLUSTERS.plural}, because the restore creates one; ask "
                "an administrator for it, or restore into an existing cluster"
            ),
        ),
        *map(gate_validation, RESTORE_GATES),
        *map(use_validation, RESTORE_USES),
        *RESTORE_SECRETS,
    ),
)

_REPORTED: Final = ("report", "submissionClaim", "testReport")
_ONCE: Final = ("report", "submissionClaim")
_ACCOUNTS: Final = {BACKUPS.plural: "backup", RESTORES.plural: "restore"}
_STATUS, _OLD_STATUS = (
    f"dyn({name}).?status.orValue(dyn({{}}))" for name in ("object", "oldObject")
)
_ACCOUNT = (
    "'system:serviceaccount:' + request.namespace + ':' + string(object.spec.cluster) + '-' + "
    f"{_ACCOUNTS!r}[request.resource.resource] + '-serviceaccount'"
)

PROTECT_STATUS = AdmissionPolicy(
    name="protect-run-status",
    why="Only the operator and the Job of a run report its result.",
    matches=(
        Match(
            GROUP,
            (f"{BACKUPS.plural}/status", f"{RESTORES.plural}/status"),
            ("UPDATE",),
            (VERSION,),
            scope="Namespaced",
        ),
    ),
    conditions=(_NOT_OPERATOR,),
    variables=(NamedExpression("status", _STATUS), NamedExpression("stood", _OLD_STATUS)),
    validations=(
        Validation(
            rule_id="status-account",
            field="status",
            expression=f"request.userInfo.username == {_ACCOUNT}",
            message="only the operator and the Job of this object may write its status",
        ),
        Validation(
            rule_id="status-fields",
            field="status",
            expression=(
                f"variables.status.all(key, key in {list(_REPORTED)!r} || "
                "(key in variables.stood && variables.stood[key] == variables.status[key])) && "
                "variables.stood.all(key, key in variables.status)"
            ),
            message=f"a Job may write {', '.join(_REPORTED)}, and nothing else",
        ),
        Validation(
            rule_id="status-once",
            field="status",
            expression=(
                f"{list(_ONCE)!r}.all(key, !(key in variables.stood) || "
                "variables.status[?key].orValue(dyn({})) == variables.stood[key])"
            ),
            message=f"{' and '.join(_ONCE)} are written once and never changed",
        ),
    ),
)

RUN_POLICIES: Final = (VALIDATE_BACKUP, VALIDATE_RESTORE, PROTECT_STATUS)
