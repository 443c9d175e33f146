"""One function per name of an object of a cluster.

Uses the standard library. contracts.naming.revisions adds the names of blue/green upgrades,
contracts.datacenter.names those of datacenters. Called by managers, by contracts.hcl and by the
rules, which use the pattern of the name of a cluster.

Every function takes the name of the OpenBaoCluster and raises ValueError for an invalid one: the
operator must not create only a part of the objects of a cluster.
"""

import hashlib
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal

FINALIZER = "openbao.org/openbaocluster-finalizer"

# Services are DNS-1035 labels, so a cluster must start with a letter. 40 leaves room for the
# longest suffix in the 63 characters of a Service or a label value (and a StatefulSet's revision).
CLUSTER_NAME_MAX = 40
CLUSTER_NAME_RULE = "1 to 40 of a-z, 0-9, -: first a letter, last no dash, no reserved suffix"
CLUSTER_NAME_PATTERN = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"
# A cluster with the name "a-public" would need the Service that cluster "a" already owns.
RESERVED_SUFFIXES = ("-acme", "-active", "-metrics", "-public", "-read")
# "a-0123456789abcdef" may be the green pool of cluster "a" (contracts.pools.voter_pool).
REVISION_SUFFIX = r"-[0-9a-f]{16}$"
# Secrets with these names contain keys of the operator; no reference in a spec may name them.
SYSTEM_SECRET_SUFFIXES = (
    "-recovery-shares",
    "-root-token",
    "-tls-ca",
    "-tls-server",
    "-unseal-key",
)

Job = Literal["backup", "restore", "upgrade"]
Run = Literal["backup", "restore", "test"]

SERVICE_ACCOUNT_NAME_MAX = 200
JOB_ACCOUNT_SUFFIXES = (
    "-backup-serviceaccount",
    "-restore-serviceaccount",
    "-upgrade-serviceaccount",
)
DATA_VOLUME = "data"
RELOAD_PREFIX = "reload-"
RELOAD_DIGEST = 8
CLUSTER_DOMAIN = "cluster.local"

_CLUSTER_NAME = re.compile(CLUSTER_NAME_PATTERN)
_REVISION_SUFFIX = re.compile(REVISION_SUFFIX)
# Valid for the label of a Job's pods, and for the name of a Role.
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_MAX = 63
_RUN_DIGEST = 8
_UPGRADE_DIGEST = 10
_OBJECT_NAME_MAX = 253


# Every function of a name calls it, many times in a reconcile.
@lru_cache(maxsize=4096)
def is_cluster_name(name: str) -> bool:
    """Return whether an OpenBaoCluster may have this name."""
    return (
        len(name) <= CLUSTER_NAME_MAX
        and _CLUSTER_NAME.fullmatch(name) is not None
        and not name.endswith(RESERVED_SUFFIXES)
        and _REVISION_SUFFIX.search(name) is None
    )


def _of(cluster: str, suffix: str = "") -> str:
    if not is_cluster_name(cluster):
        raise ValueError(f"metadata.name {cluster[:80]!r}: must be {CLUSTER_NAME_RULE}")
    return cluster + suffix


def stateful_set(cluster: str) -> str:
    """The StatefulSet of the voters."""
    return _of(cluster)


def read_stateful_set(cluster: str) -> str:
    """The StatefulSet of the read replicas."""
    return _of(cluster, "-read")


def headless_service(cluster: str) -> str:
    """The Service that gives each pod its own DNS name, ready or not."""
    return _of(cluster)


def public_service(cluster: str) -> str:
    """The Service that clients use."""
    return _of(cluster, "-public")


def active_service(cluster: str) -> str:
    """The Service of the leader."""
    return _of(cluster, "-active")


def read_service(cluster: str) -> str:
    """The Service of the read replicas."""
    return _of(cluster, "-read")


def metrics_service(cluster: str) -> str:
    """The Service through which Prometheus finds the servers."""
    return _of(cluster, "-metrics")


def acme_service(cluster: str) -> str:
    """The Service for the challenges of an ACME server, ready or not."""
    return _of(cluster, "-acme")


def acme_cache_claim(cluster: str) -> str:
    """The PersistentVolumeClaim that servers share in mode ACME."""
    return _of(cluster, "-acme-cache")


def audit_claim(cluster: str) -> str:
    """The PersistentVolumeClaim for the files of audit devices."""
    return _of(cluster, "-audit")


def config_map(cluster: str) -> str:
    """The ConfigMap with config.hcl."""
    return _of(cluster, "-config")


def read_config_map(cluster: str) -> str:
    """The ConfigMap with config.hcl of the read replicas."""
    return _of(cluster, "-config-read")


def gateway_ca_config_map(cluster: str) -> str:
    """The ConfigMap with the CA of the servers, for gateways; it has the name of the CA Secret."""
    return _of(cluster, "-tls-ca")


def self_init_config_map(cluster: str) -> str:
    """The ConfigMap with the self-init document, which only pod 0 may mount."""
    return _of(cluster, "-config-init")


def unseal_key_secret(cluster: str, generation: int = 1) -> str:
    """The Secret with the static unseal key; each rotation creates one of the next generation."""
    # A cluster name cannot have the dot, and no spec may name the suffix.
    if generation < 1:
        raise ValueError(f"generation {generation}")
    return _of(cluster, "-unseal-key" if generation == 1 else f".{generation}-unseal-key")


def unseal_key_secrets(cluster: str, last: int) -> tuple[str, ...]:
    """The Secrets of all generations up to `last`, which is at least 1."""
    # Every reconcile calls it. A cache would keep 5 kB for each cluster.
    return (unseal_key_secret(cluster), *[f"{cluster}.{n}-unseal-key" for n in range(2, last + 1)])


def root_token_secret(cluster: str) -> str:
    """The Secret with the root token, which exists only without self-init."""
    return _of(cluster, "-root-token")


def recovery_shares_secret(cluster: str) -> str:
    """The Secret with the recovery shares, each encrypted for its recipient."""
    return _of(cluster, "-recovery-shares")


def tls_ca_secret(cluster: str) -> str:
    """The Secret with the certificate authority of the cluster."""
    return _of(cluster, "-tls-ca")


def tls_server_secret(cluster: str) -> str:
    """The Secret with the server certificate of the cluster."""
    return _of(cluster, "-tls-server")


def service_account(cluster: str, override: str | None = None) -> str:
    """The ServiceAccount of the pods: that of the spec, or our own.

    Raises ValueError if that of the spec is longer than SERVICE_ACCOUNT_NAME_MAX.
    """
    if not override:
        return _of(cluster, "-serviceaccount")
    if len(override) > SERVICE_ACCOUNT_NAME_MAX:
        raise ValueError(f"service account name of {len(override)} characters")
    return override


def job_service_account(cluster: str, job: Job) -> str:
    """The ServiceAccount of the jobs of one kind."""
    return _of(cluster, f"-{job}-serviceaccount")


def run_job(run: Run, name: str) -> str:
    """The Job of a backup, restore or restore test, and the Role of its pod.

    `name` is that of the OpenBaoBackup or OpenBaoRestore. A name that is too long for a label or
    contains dots is shortened, and gets a part of its hash as suffix.
    """
    whole = f"{run}-{name}"
    if len(whole) <= _LABEL_MAX and _LABEL.fullmatch(whole):
        return whole
    digest = hashlib.sha256(name.encode()).hexdigest()[:_RUN_DIGEST]
    start = whole.replace(".", "-")[: _LABEL_MAX - _RUN_DIGEST - 1].rstrip("-")
    return f"{start}-{digest}"


def scheduled_backup(cluster: str, scheduled: datetime) -> str:
    """The OpenBaoBackup for one time of the schedule (aware): one name per time."""
    return _of(cluster, f"-{scheduled.astimezone(UTC):%Y%m%d-%H%M%S}")


def triggered_backup(cluster: str, uid: str, trigger: str, before: str) -> str:
    """The OpenBaoBackup for a trigger annotation of the cluster with this UID.

    `before` is the name of the last triggered backup, so that the same value can be used again.
    """
    return _of(cluster, f"-manual-{_digest(uid, trigger, before)}")


def pre_upgrade_backup(cluster: str, uid: str, upgrade: str) -> str:
    """The OpenBaoBackup before one upgrade; `upgrade` is a unique id of the upgrade."""
    return _of(cluster, f"-pre-upgrade-{_digest(uid, upgrade)}")


def restore_test_job(backup: str, run: str) -> str:
    """The Job of one restore test of an OpenBaoBackup; `run` is the id of the test."""
    return run_job("test", f"{backup}-{run}")


def upgrade_job(cluster: str, action: str, run: str) -> str:
    """The Job of one step of an upgrade; `run` is a unique id of the run."""
    digest = hashlib.sha256(f"{cluster}|{action}|{run}".encode()).hexdigest()[:_UPGRADE_DIGEST]
    start = f"upgrade-{_of(cluster)}-{action}"[: _LABEL_MAX - _UPGRADE_DIGEST - 1].rstrip("-")
    return f"{start}-{digest}"


def role(service_account_name: str) -> str:
    """The Role of that ServiceAccount."""
    return _of_account(service_account_name, "-role")


def role_binding(service_account_name: str) -> str:
    """The RoleBinding of that ServiceAccount."""
    return _of_account(service_account_name, "-rolebinding")


def _of_account(service_account_name: str, suffix: str) -> str:
    name = service_account_name + suffix
    if not service_account_name or len(name) > _OBJECT_NAME_MAX:
        raise ValueError(f"not a name for an object: {name[:80]!r}")
    return name


def network_policy(cluster: str) -> str:
    """The NetworkPolicy of the server pods."""
    return _of(cluster, "-network-policy")


def jobs_network_policy(cluster: str) -> str:
    """The NetworkPolicy of the pods of jobs."""
    return _of(cluster, "-jobs-network-policy")


def ingress(cluster: str) -> str:
    """The Ingress."""
    return _of(cluster)


def http_route(cluster: str) -> str:
    """The HTTPRoute of the Gateway API."""
    return _of(cluster, "-httproute")


def tls_route(cluster: str) -> str:
    """The TLSRoute of the Gateway API."""
    return _of(cluster, "-tlsroute")


def backend_tls_policy(cluster: str) -> str:
    """The BackendTLSPolicy of the Gateway API."""
    return _of(cluster, "-backend-tls-policy")


def service_monitor(cluster: str) -> str:
    """The ServiceMonitor of the Prometheus operator."""
    return _of(cluster)


def pod_disruption_budget(cluster: str) -> str:
    """The PodDisruptionBudget of the server pods."""
    return _of(cluster, "-pdb")


def pod(cluster: str, ordinal: int) -> str:
    """Pod number `ordinal` (from 0), which is also the raft node id."""
    if ordinal < 0:
        raise ValueError(f"ordinal {ordinal}")
    return _of(cluster, f"-{ordinal}")


def data_claim(cluster: str, ordinal: int) -> str:
    """The PersistentVolumeClaim of pod number `ordinal`."""
    return claim_of_pod(pod(cluster, ordinal))


def claim_of_pod(pod_name: str) -> str:
    """The PersistentVolumeClaim of a server pod of any pool (StatefulSet: template-pod)."""
    return f"{DATA_VOLUME}-{pod_name}"


def read_pod(cluster: str, ordinal: int) -> str:
    """Read replica number `ordinal` (from 0), which is also its raft node id."""
    if ordinal < 0:
        raise ValueError(f"ordinal {ordinal}")
    return f"{read_stateful_set(cluster)}-{ordinal}"


def read_data_claim(cluster: str, ordinal: int) -> str:
    """The PersistentVolumeClaim of read replica number `ordinal`."""
    return f"{DATA_VOLUME}-{read_pod(cluster, ordinal)}"


def ordinal_of(cluster: str, pod_name: str) -> int | None:
    """The ordinal in a pod's name; None if the pod is not in the pool without a revision."""
    return ordinal_in(stateful_set(cluster), pod_name)


def read_ordinal_of(cluster: str, pod_name: str) -> int | None:
    """The ordinal in the name of a read replica; None for any other pod."""
    return ordinal_in(read_stateful_set(cluster), pod_name)


def ordinal_in(stateful_set_name: str, pod_name: str) -> int | None:
    """The ordinal in the name of a pod; None if the pod is not of that StatefulSet."""
    prefix, _, number = pod_name.rpartition("-")
    if prefix != stateful_set_name or not number.isascii() or not number.isdigit():
        return None
    ordinal = int(number)
    return ordinal if str(ordinal) == number else None


def claim_ordinal_in(stateful_set_name: str, claim_name: str) -> int | None:
    """The ordinal in the name of a data PVC; None if the PVC is not of that StatefulSet."""
    prefix = f"{DATA_VOLUME}-"
    if not claim_name.startswith(prefix):
        return None
    return ordinal_in(stateful_set_name, claim_name.removeprefix(prefix))


def raft_server_name(cluster: str) -> str:
    """The name in every server certificate that peers verify, for every address."""
    return f"openbao-cluster-{_of(cluster)}.local"


def service_dns(service: str, namespace: str) -> str:
    """The short DNS name of a Service with its namespace."""
    return f"{service}.{namespace}.svc"


def service_dns_names(service: str, namespace: str) -> tuple[str, ...]:
    """All DNS names of a Service that pods of this Kubernetes cluster may use."""
    short = service_dns(service, namespace)
    return (service, f"{service}.{namespace}", short, f"{short}.{CLUSTER_DOMAIN}")


def server_dns_names(cluster: str, namespace: str) -> tuple[str, ...]:
    """The DNS names of the server certificate, sorted.

    A wildcard covers the pods, so a change of `replicas` needs no new certificate.
    """
    headless = headless_service(cluster)
    services = (headless, public_service(cluster), active_service(cluster))
    pods = service_dns(headless, namespace)
    names = {
        "localhost",
        raft_server_name(cluster),
        f"*.{pods}",
        f"*.{pods}.{CLUSTER_DOMAIN}",
        *(name for service in services for name in service_dns_names(service, namespace)),
    }
    return tuple(sorted(names))


def reload_container(number: int, digest: str) -> str:
    """The ephemeral container of reload `number` of a pod.

    `digest` is the hash of the files to read; the name has its first RELOAD_DIGEST characters.
    """
    return f"{RELOAD_PREFIX}{number}-{digest[:RELOAD_DIGEST]}"


def _digest(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:_RUN_DIGEST]
