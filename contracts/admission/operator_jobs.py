"""The policies about Jobs of the operator, their RBAC objects, and the clusters of restores.

Uses contracts.admission.datacenters. Collected by contracts.admission.operator_writes.
contracts.admission.operator_pods also restricts the pod of a Job, as it does that of a server.
"""

from typing import Final

from contracts.admission.datacenters import IS_OWNED_BY_WORKLOAD
from contracts.admission.policy import AdmissionPolicy, Match, NamedExpression, Validation
from contracts.admission.requesters import IS_CONTROLLER
from contracts.api.group import (
    BACKUP_KIND,
    BACKUPS,
    CLUSTER_KIND,
    CLUSTERS,
    GROUP,
    RESTORE_KIND,
    RESTORES,
)
from contracts.naming import labels, names
from contracts.rbac.rules import BATCH

_KINDS: Final = {BACKUP_KIND: BACKUPS.plural, RESTORE_KIND: RESTORES.plural}
_ACCOUNTS: Final = {BACKUP_KIND: "-backup-serviceaccount", RESTORE_KIND: "-restore-serviceaccount"}
STATUS_VERBS: Final = ("get", "patch")

RUN: Final = NamedExpression(
    "run",
    "variables.it.metadata.?ownerReferences.orValue(dyn([])).filter(owner, "
    f"owner.?controller.orValue(false) && owner.apiVersion.startsWith('{GROUP}/') && "
    f"owner.kind in {_KINDS!r})",
)
"""A list of the backup or restore that controls the object; empty if there is none."""

_ANY_RUN = "variables.run.exists(owner, "
_RULE = (
    f"rule.?apiGroups.orValue(dyn([])) == ['{GROUP}'] && "
    "rule.?resourceNames.orValue(dyn([])) == [owner.name] && "
    f"((rule.?resources.orValue(dyn([])) == [{_KINDS!r}[owner.kind]] && rule.verbs == ['get']) || "
    f"(rule.?resources.orValue(dyn([])) == [{_KINDS!r}[owner.kind] + '/status'] && "
    f"rule.verbs.all(verb, verb in {list(STATUS_VERBS)!r})))"
)
ROLE_OF_RUN: Final = f"{_ANY_RUN}variables.it.?rules.orValue(dyn([])).all(rule, {_RULE}))"
"""CEL: a Role permits only reading one run and writing its status."""

_ACCOUNT = f"variables.cluster + {_ACCOUNTS!r}[owner.kind]"
BINDING_OF_RUN: Final = (
    f"{_ANY_RUN}variables.it.roleRef.kind == 'Role' && "
    "variables.it.roleRef.name == variables.name && "
    "size(variables.it.?subjects.orValue(dyn([]))) == 1 && "
    "variables.it.subjects.all(one, one.kind == 'ServiceAccount' && "
    f"one.?namespace.orValue('') == request.namespace && one.name == {_ACCOUNT}))"
)
"""CEL: a RoleBinding grants the Role of its name to the account of the cluster's Jobs."""

_POD = "variables.it.spec.template.spec"
_VOLUMES = f"{_POD}.?volumes.orValue(dyn([]))"
_PART = f"variables.it.metadata.?labels[?'{labels.COMPONENT}'].orValue('')"
UPGRADE: Final = NamedExpression(
    "upgrade",
    f"{_PART} == 'upgrade' && "
    "variables.it.metadata.?ownerReferences.orValue(dyn([])).exists_one(owner, "
    f"owner.?controller.orValue(false) && owner.apiVersion.startsWith('{GROUP}/') && "
    f"owner.kind == '{CLUSTER_KIND}' && owner.name == variables.cluster)",
)
"""Whether a Job is a step of an upgrade: it has the label, and its controller is the cluster."""
_UPGRADE_ACCOUNT: Final = "-upgrade-serviceaccount"
_UNREAD: Final = ("-recovery-shares", "-root-token")
# The Secret of the certificate authority also holds a private key.
_CERTIFICATES: Final = ("-tls-ca", "-tls-server")
_KEY: Final = names.unseal_key_secret("c").removeprefix("c")


def _readable(name: str, items: str) -> str:
    """CEL: a Job may mount these items of the Secret of this name."""
    only = f"{items}.orValue(dyn([])).map(item, item.key) == ['ca.crt']"
    return (
        f"!{list(_UNREAD)!r}.exists(end, {name}.endsWith(end)) && "
        f"(!{name}.endsWith('{_KEY}') || {_PART} == 'restore-test') && "
        f"(!{list(_CERTIFICATES)!r}.exists(end, {name}.endsWith(end)) || {only})"
    )


_WHOLE = _readable("volume.secret.?secretName.orValue('')", "volume.secret.?items")
_PROJECTED = _readable("source.secret.?name.orValue('')", "source.secret.?items")
BY_THE_OPERATOR: Final = (NamedExpression("by-the-operator", IS_CONTROLLER),)
_JOB_ACCOUNTS: Final = (*_ACCOUNTS.values(),)
_NAMED: Final = f"{_POD}.?serviceAccountName.orValue('')"


def restrict_jobs(variables: tuple[NamedExpression, ...], labeled: Validation) -> AdmissionPolicy:
    """Return the policy about Jobs; `variables` and `labeled` are for all objects of a cluster."""
    return AdmissionPolicy(
        name="restrict-controller-jobs",
        why="A Job of the operator runs once, for a backup, restore or upgrade, with its account.",
        matches=(Match(BATCH, ("jobs",), ("CREATE", "UPDATE")),),
        conditions=BY_THE_OPERATOR,
        variables=(*variables, RUN, UPGRADE),
        validations=(
            labeled,
            Validation(
                rule_id="job-of-a-run",
                field="metadata.ownerReferences",
                expression="size(variables.run) == 1 || variables.upgrade",
                message=(
                    "a Job of the operator is controlled by an OpenBaoBackup or OpenBaoRestore, "
                    "or, for an upgrade, by the OpenBaoCluster"
                ),
            ),
            Validation(
                rule_id="job-once",
                field="spec",
                expression=(
                    "variables.it.spec.?backoffLimit.orValue(dyn(6)) == 0 && "
                    "variables.it.spec.?parallelism.orValue(dyn(1)) == 1 && "
                    "variables.it.spec.?completions.orValue(dyn(1)) == 1 && "
                    f"{_POD}.?restartPolicy.orValue('') == 'Never'"
                ),
                message="a Job of the operator must run one pod, once: a restore must not run "
                "twice",
            ),
            Validation(
                rule_id="job-account",
                field="spec.template.spec.serviceAccountName",
                expression=(
                    f"variables.upgrade ? {_NAMED} in ['', variables.cluster + "
                    f"'{_UPGRADE_ACCOUNT}'] : {list(_JOB_ACCOUNTS)!r}.exists(end, "
                    f"{_NAMED} == variables.cluster + end)"
                ),
                message=(
                    f"must be <cluster>{' or <cluster>'.join(_JOB_ACCOUNTS)}; for an upgrade "
                    f"<cluster>{_UPGRADE_ACCOUNT}, or empty for a hook"
                ),
            ),
            Validation(
                rule_id="job-secrets",
                field="spec.template.spec.volumes",
                expression=(
                    f"{_VOLUMES}.all(volume, (!has(volume.secret) || ({_WHOLE})) && "
                    "volume.?projected.?sources.orValue(dyn([])).all(source, "
                    f"!has(source.secret) || ({_PROJECTED})))"
                ),
                message=(
                    "a Job must not read a root token, a recovery share or a certificate key, "
                    "and may read the unseal key only to test a backup"
                ),
            ),
        ),
    )


_IT = NamedExpression("it", "request.operation == 'DELETE' ? dyn(oldObject) : dyn(object)")

RESTRICT_CUSTOM_RESOURCES = AdmissionPolicy(
    name="restrict-controller-custom-resources",
    why="The operator deletes no cluster and no backup of a user, and creates clusters only "
    "for restores and datacenters.",
    matches=(
        Match(GROUP, (CLUSTERS.plural,), ("CREATE", "DELETE")),
        Match(GROUP, (BACKUPS.plural,), ("DELETE",)),
    ),
    conditions=BY_THE_OPERATOR,
    variables=(_IT,),
    validations=(
        Validation(
            rule_id="cluster-of-a-restore",
            field=f"metadata.annotations[{labels.RESTORE_ORIGIN}]",
            expression=(
                f"request.resource.resource != '{CLUSTERS.plural}' || variables.it.metadata"
                f".?annotations[?'{labels.RESTORE_ORIGIN}'].orValue('') != '' || "
                f"{IS_OWNED_BY_WORKLOAD}"
            ),
            message=("the operator creates and deletes only clusters of restores and datacenters"),
        ),
        Validation(
            rule_id="backup-of-its-own",
            field=f"metadata.labels[{labels.MANAGED_BY}]",
            expression=(
                f"request.resource.resource != '{BACKUPS.plural}' || variables.it.metadata"
                f".?labels[?'{labels.MANAGED_BY}'].orValue('') == '{labels.OPERATOR}'"
            ),
            message="the operator deletes only OpenBaoBackups that it created",
        ),
    ),
)
