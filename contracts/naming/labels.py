"""Label and annotation keys, selectors, and the labels that a server writes.

Uses the standard library. Called by managers.
"""

from collections.abc import Mapping
from dataclasses import dataclass

NAME = "app.kubernetes.io/name"
INSTANCE = "app.kubernetes.io/instance"
MANAGED_BY = "app.kubernetes.io/managed-by"
CLUSTER = "openbao.org/cluster"
COMPONENT = "openbao.org/component"
WORKLOAD_POOL = "openbao.org/workload-pool"
REVISION = "openbao.org/revision"
# On a pod of the pool without a revision while another pool exists, for the public Service.
FIRST_SET = "openbao.org/first-set"

APP = "openbao"
OPERATOR = "openbao-operator"
SERVER = "openbaocluster"
# Values of COMPONENT for the pods of jobs; servers have the value SERVER.
JOBS = ("backup", "restore", "restore-test", "upgrade", "upgrade-snapshot")
VOTER = "voter"
READ_REPLICA = "read-replica"

CONFIG_HASH = "openbao.org/config-hash"
TEMPLATE_HASH = "openbao.org/template-hash"
RELOAD_HASH = "openbao.org/reload-hash"
TLS_CERT_HASH = "openbao.org/tls-cert-hash"
RESTART_AT = "openbao.org/restart-at"
CA_REQUEST = "openbao.org/ca-request"
OWNER_UID = "openbao.org/owner-uid"
INTENT_HASH = "openbao.org/intent-hash"
# On a StatefulSet: hash of its immutable fields, as the operator requested them at its creation.
CREATION_HASH = "openbao.org/creation-hash"
ADOPT = "openbao.org/adopt"
MAINTENANCE = "openbao.org/maintenance"
# Name of the scheduling gate that keeps a fenced pod from starting.
FENCE_GATE = "openbao.org/fence"
# On a data PVC: the id of the raft node of its data, after the removal of that node.
REMOVED_PEER = "openbao.org/removed-peer"
# On a StatefulSet: the record of a verified image, as managers.images.policy writes it.
IMAGE_VERIFICATION = "openbao.org/image-verification"
OPERATOR_IMAGE_VERIFICATION = "openbao.org/operator-image-verification"
# On a cluster: UID of the OpenBaoRestore that created it. On a pod (template): UID of the last
# restore before the start of this server. On an OpenBaoRestore: the decision of a user.
RESTORE_ORIGIN = "openbao.org/restore-origin"
RESTORE_REVISION = "openbao.org/restore-revision"
RESTORE_ACKNOWLEDGE = "openbao.org/restore-acknowledge"
# The keys of the static seal: on a pod (template) the keys of its server, on a Secret the id of its
# key, on the pod of a former leader the key with which it rewrapped the root key.
UNSEAL_KEYS = "openbao.org/unseal-keys"
UNSEAL_KEY_ID = "openbao.org/unseal-key-id"
UNSEAL_REWRAPPED = "openbao.org/unseal-rewrapped"

# On a Job and its pod: the key of the snapshot that it writes or reads.
BACKUP_KEY = "openbao.org/backup-key"
# On an OpenBaoBackup and its Job: its origin.
BACKUP_TYPE = "openbao.org/backup-type"
# On a Job of an upgrade and its pod: the action, and the id of its run.
UPGRADE_ACTION = "openbao.org/upgrade-action"
UPGRADE_RUN_ID = "openbao.org/upgrade-run-id"
# On a cluster: a user requests a backup with any value of the first; the operator removes it, and
# sets the second to the name of the OpenBaoBackup that it created.
TRIGGER_BACKUP = "openbao.org/trigger-backup"
BACKUP_TRIGGERED = "openbao.org/backup-triggered"
# On an OpenBaoBackup: the value of the annotation that requested it.
BACKUP_TRIGGER = "openbao.org/backup-trigger"

# Written by the server's own service registration on its own pod.
SERVER_ACTIVE = "openbao-active"
SERVER_INITIALIZED = "openbao-initialized"
SERVER_SEALED = "openbao-sealed"
SERVER_VERSION = "openbao-version"

RESERVED = ("openbao-", "openbao.org/")
"""Prefixes of keys that only servers and the operator may write."""

Labels = dict[str, str]


def base(cluster: str) -> Labels:
    """Return the labels of every object of a cluster."""
    return {NAME: APP, INSTANCE: cluster, MANAGED_BY: OPERATOR, CLUSTER: cluster}


def component(cluster: str, kind: str) -> Labels:
    """Return the base labels, and the component of the object: `SERVER`, or the kind of a Job."""
    return {**base(cluster), COMPONENT: kind}


def voters(cluster: str) -> Labels:
    """Return the selector of the voting server pods.

    It contains the pool, because the pods of Jobs have the base labels too and must not become
    endpoints. The selector of a StatefulSet is immutable.
    """
    return {**base(cluster), WORKLOAD_POOL: VOTER}


def read_replicas(cluster: str) -> Labels:
    """Return the selector of the server pods without a vote."""
    return {**base(cluster), WORKLOAD_POOL: READ_REPLICA}


def servers(cluster: str) -> Labels:
    """Return the selector of all server pods of all pools, without the pods of Jobs."""
    return component(cluster, SERVER)


def server_pod(cluster: str) -> Labels:
    """Return the labels of a voting server pod; a superset of `voters`."""
    return {**voters(cluster), COMPONENT: SERVER}


def read_pod(cluster: str) -> Labels:
    """Return the labels of a server pod without a vote; a superset of `read_replicas`."""
    return {**read_replicas(cluster), COMPONENT: SERVER}


def of_revision(base: Labels, revision: str) -> Labels:
    """Return the labels with the revision of the pool; "" for the pool without a revision."""
    return {**base, REVISION: revision} if revision else base


def leader(cluster: str) -> Labels:
    """Return the selector of the pod, of any pool, whose server reports that it is the leader."""
    return {**servers(cluster), SERVER_ACTIVE: "true"}


def users_own(keys: Mapping[str, str]) -> Labels:
    """Return the labels or annotations without those of the servers and of the operator.

    The servers write `openbao-*` and the operator writes `openbao.org/*`, and the operator trusts
    these keys without a check of their writer.
    """
    return {key: value for key, value in keys.items() if not key.startswith(RESERVED)}


def selector_text(labels: Mapping[str, str]) -> str:
    """Return the label selector for a list or watch: sorted, `key=value`, joined by commas."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


@dataclass(frozen=True, slots=True)
class Registration:
    """The state that a server reports in the labels of its pod; None is "not known".

    It may be outdated: the labels of a killed server do not change.
    """

    active: bool | None = None
    initialized: bool | None = None
    sealed: bool | None = None
    version: str | None = None


def registration(labels: Mapping[str, str]) -> Registration:
    """Read the labels of a server. A value other than true or false counts as not known."""
    return Registration(
        active=_truth(labels.get(SERVER_ACTIVE)),
        initialized=_truth(labels.get(SERVER_INITIALIZED)),
        sealed=_truth(labels.get(SERVER_SEALED)),
        version=(labels.get(SERVER_VERSION) or "").strip().lower() or None,
    )


def _truth(text: str | None) -> bool | None:
    return {"true": True, "false": False}.get((text or "").strip().lower())
