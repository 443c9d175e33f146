"""Label and annotation keys, the selectors made of them, and the labels that a server writes.

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
# On a pod of the pool without a revision while another pool is there, for the Service of clients.
FIRST_SET = "openbao.org/first-set"

APP = "openbao"
OPERATOR = "openbao-operator"
SERVER = "openbaocluster"
# What the pods of jobs are a part of (OpenBao's servers are never one of these).
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
ADOPT = "openbao.org/adopt"
MAINTENANCE = "openbao.org/maintenance"
# Name of the scheduling gate that keeps a fenced pod from starting.
FENCE_GATE = "openbao.org/fence"
# On a data claim: the raft node whose copy of the data it held, after that node was removed.
REMOVED_PEER = "openbao.org/removed-peer"
# On a StatefulSet: which question about an image was answered, and with which content.
IMAGE_VERIFICATION = "openbao.org/image-verification"
OPERATOR_IMAGE_VERIFICATION = "openbao.org/operator-image-verification"
# On a cluster: UID of the OpenBaoRestore that made it. On a pod (template): UID of the last restore
# of the cluster, since which this server was started. On an OpenBaoRestore: what a person decides.
RESTORE_ORIGIN = "openbao.org/restore-origin"
RESTORE_REVISION = "openbao.org/restore-revision"
RESTORE_ACKNOWLEDGE = "openbao.org/restore-acknowledge"
# The keys of the static seal: on a pod (template) those that its server knows, on a Secret the id
# of the key in it, on a pod that led the key with which it rewrapped the root key.
UNSEAL_KEYS = "openbao.org/unseal-keys"
UNSEAL_KEY_ID = "openbao.org/unseal-key-id"
UNSEAL_REWRAPPED = "openbao.org/unseal-rewrapped"

# On a Job and its pod: the key of the snapshot that it writes or reads.
BACKUP_KEY = "openbao.org/backup-key"
# On an OpenBaoBackup and its Job: who asked for it.
BACKUP_TYPE = "openbao.org/backup-type"
# On a Job of an upgrade and its pod: what it does, and for which run of that.
UPGRADE_ACTION = "openbao.org/upgrade-action"
UPGRADE_RUN_ID = "openbao.org/upgrade-run-id"
# On a cluster: a user who requests a backup sets the first, to any value; the operator takes it
# away and writes the second, the name of the OpenBaoBackup that it made for it.
TRIGGER_BACKUP = "openbao.org/trigger-backup"
BACKUP_TRIGGERED = "openbao.org/backup-triggered"
# On an OpenBaoBackup: the value of the annotation that asked for it.
BACKUP_TRIGGER = "openbao.org/backup-trigger"

# Written by the server's own service registration on its own pod.
SERVER_ACTIVE = "openbao-active"
SERVER_INITIALIZED = "openbao-initialized"
SERVER_SEALED = "openbao-sealed"
SERVER_VERSION = "openbao-version"

RESERVED = ("openbao-", "openbao.org/")
"""How keys begin that only servers and the operator may write."""

Labels = dict[str, str]


def base(cluster: str) -> Labels:
    """What every object of a cluster carries."""
    return {NAME: APP, INSTANCE: cluster, MANAGED_BY: OPERATOR, CLUSTER: cluster}


def component(cluster: str, kind: str) -> Labels:
    """The base labels, and what the object is a part of: `SERVER`, or the kind of a Job."""
    return {**base(cluster), COMPONENT: kind}


def voters(cluster: str) -> Labels:
    """The selector of the voting server pods.

    The pool is in it from the first day: a Job's pod carries the base labels as well and must not
    become an endpoint, and a StatefulSet's selector can never be changed.
    """
    return {**base(cluster), WORKLOAD_POOL: VOTER}


def read_replicas(cluster: str) -> Labels:
    """The selector of the server pods without a vote."""
    return {**base(cluster), WORKLOAD_POOL: READ_REPLICA}


def servers(cluster: str) -> Labels:
    """The selector of all server pods, of whatever pool, and of no Job."""
    return component(cluster, SERVER)


def server_pod(cluster: str) -> Labels:
    """The labels of a voting server pod; a superset of `voters`."""
    return {**voters(cluster), COMPONENT: SERVER}


def read_pod(cluster: str) -> Labels:
    """The labels of a server pod without a vote; a superset of `read_replicas`."""
    return {**read_replicas(cluster), COMPONENT: SERVER}


def of_revision(base: Labels, revision: str) -> Labels:
    """The labels, and the revision of the pool of the pod; "" for the pool without one."""
    return {**base, REVISION: revision} if revision else base


def leader(cluster: str) -> Labels:
    """The selector of the pod that says of itself that it leads, in whichever pool."""
    return {**servers(cluster), SERVER_ACTIVE: "true"}


def users_own(keys: Mapping[str, str]) -> Labels:
    """The labels or annotations without those of the servers and of the operator.

    The servers write `openbao-*` about themselves, and the operator writes everything under
    `openbao.org/`: both are trusted from any writer.
    """
    return {key: value for key, value in keys.items() if not key.startswith(RESERVED)}


def selector_text(labels: Mapping[str, str]) -> str:
    """The labels as a list or watch takes them: sorted, `key=value`, joined by commas."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


@dataclass(frozen=True, slots=True)
class Registration:
    """What a server says of itself in the labels of its pod; None is "not known".

    A hint and no proof: a killed server leaves its last labels behind.
    """

    active: bool | None = None
    initialized: bool | None = None
    sealed: bool | None = None
    version: str | None = None


def registration(labels: Mapping[str, str]) -> Registration:
    """Read the labels that a server wrote. Text other than true or false counts as not known."""
    return Registration(
        active=_truth(labels.get(SERVER_ACTIVE)),
        initialized=_truth(labels.get(SERVER_INITIALIZED)),
        sealed=_truth(labels.get(SERVER_SEALED)),
        version=(labels.get(SERVER_VERSION) or "").strip().lower() or None,
    )


def _truth(text: str | None) -> bool | None:
    return {"true": True, "false": False}.get((text or "").strip().lower())
