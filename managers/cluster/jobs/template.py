"""Builds the Job template of a cluster. Pure.

Called by `managers.cluster.jobs.template_source`, which reads the inputs.
"""

from __future__ import annotations

from typing import Any

from contracts import tls_names
from contracts.api.cluster.job_roles import DEFAULTS, job_role, string_field
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.jobs.template import AuthorityFile, JobLogin, JobOverrides, JobTemplate
from contracts.naming import names
from contracts.naming.names import Job
from contracts.pools.owned_names import ORDINALS_MAX
from contracts.pools.voter_pool import voter_pools
from contracts.records.environment import ApiEndpoints
from contracts.records.observed import ImageVerdict
from managers.context.installation import Installation
from runtime.outcome import Blocked, Wait
from runtime.types import ObjectKey

UNAVAILABLE = "ImageRegistryUnavailable"
IMAGE_UNKNOWN = "JobImageUnknown"
NO_LOGIN = "JobLoginMissing"
ACCOUNT_MISSING = "JobServiceAccountMissing"
VERIFICATION_FAILED: dict[Job, str] = {
    "backup": "BackupExecutorImageVerificationFailed",
    "restore": "RestoreExecutorImageVerificationFailed",
    "upgrade": "UpgradeExecutorImageVerificationFailed",
}
PVC_MISSING = "SnapshotVolumeMissing"
_RECHECK = 10.0
# Port of the Service of the API server.
SERVICE_PORT = 443


def job_image(
    cluster: OpenBaoCluster, job: Job, overrides: JobOverrides, installation: Installation
) -> str:
    """Return the image before its verification; "" when none is known."""
    block = cluster.spec.upgrade if job == "upgrade" else cluster.spec.backup
    return overrides.image or (block.image if block else None) or installation.operator_image


def image_unknown(job: Job) -> Blocked:
    """Report that there is no image to run."""
    block = "upgrade" if job == "upgrade" else "backup"
    return Blocked(
        IMAGE_UNKNOWN,
        f"the image for Jobs is not known: set spec.{block}.image, or the environment variable "
        "OPERATOR_IMAGE of the operator",
    )


def account_missing(account: str) -> Wait:
    """Report that the ServiceAccount of the Jobs does not exist yet."""
    return Wait(ACCOUNT_MISSING, f"ServiceAccount {account} does not exist yet", 1.0)


def snapshot_claim(cluster: OpenBaoCluster, job: Job, overrides: JobOverrides) -> str:
    """Name the PVC that stores snapshots; "" for an object store, or none."""
    backup = None if job == "upgrade" else cluster.spec.backup
    pvc = backup.target.pvc if backup else None
    return (pvc.claim_name if pvc else "") if overrides.claim is None else overrides.claim


def pvc_missing(pvc: str) -> Blocked:
    """Report that the PVC for snapshots does not exist."""
    return Blocked(
        PVC_MISSING,
        f"PersistentVolumeClaim {pvc} does not exist, and the operator does not create it: create "
        "it, or set another one in pvc.claimName",
        _RECHECK,
    )


def verified_image(
    cluster: OpenBaoCluster, job: Job, reference: str, verdict: ImageVerdict | None
) -> str | Wait | Blocked:
    """Return the reference that may run, pinned to the verified digest if a policy requires it.

    The policy for the servers' image does not replace the one for the operator's images.
    """
    policy = cluster.spec.operator_image_verification
    if policy is None or not policy.enabled:
        return reference
    if verdict is not None and verdict.pinned:
        return verdict.pinned
    if policy.failure_policy == "Warn":
        return reference
    if verdict is None:
        return Wait(UNAVAILABLE, f"image {reference} has not been verified yet", 1.0)
    if verdict.problem == "unreachable":
        return Wait(UNAVAILABLE, verdict.message, verdict.retry_after)
    return Blocked(VERIFICATION_FAILED[job], verdict.message, verdict.retry_after)


def login_of(cluster: OpenBaoCluster, job: Job, overrides: JobOverrides) -> JobLogin | Blocked:
    """Return the login of a Job: an explicit setting takes precedence over the role of self-init.

    A role takes precedence over a token, and the setting of a restore over that of its cluster.
    The root token is never used.
    """
    spec = cluster.spec
    # spec.restore of a cluster has a role, and no token: each restore has its own.
    spec_section = spec.upgrade if job == "upgrade" else spec.backup if job == "backup" else None
    secret_ref = spec_section.token_secret_ref if spec_section else None
    if overrides.role or (
        not overrides.token_secret and string_field(getattr(spec, job), "jwtAuthRole")
    ):
        return JobLogin(role=overrides.role or job_role(spec, job))
    if overrides.token_secret or secret_ref:
        return JobLogin(
            token_secret=overrides.token_secret or (secret_ref.name if secret_ref else "")
        )
    if cluster.has_job_roles:
        return JobLogin(role=DEFAULTS[job])
    block = f"spec.{job}"
    return Blocked(
        NO_LOGIN,
        f"{block}.jwtAuthRole: is not set, and OpenBao has no role for the jobs of this cluster "
        f"(see condition OperatorLoginReady): set {block}.jwtAuthRole or a tokenSecretRef",
    )


def authority_of(cluster: OpenBaoCluster) -> AuthorityFile | None:
    """Name the CA bundle of the servers' certificates.

    None: a CA that the system trusts. Never the Secret of the CA itself, which has the private key.
    """
    if cluster.spec.tls.mode == "ACME":
        issuer = tls_names.acme_issuer_secret(cluster)
        return AuthorityFile(issuer, tls_names.ISSUER_FILE) if issuer else None
    secret = tls_names.server_secret(cluster)
    return AuthorityFile(secret, tls_names.CA_FILE) if secret else None


def forbidden_addresses(hosts: tuple[str, ...], endpoints: ApiEndpoints) -> tuple[str, ...]:
    """List the endpoints of the API server: ADDRESS:PORT, an IPv6 address in brackets."""
    addresses = [(host, SERVICE_PORT) for host in hosts]
    addresses += [(address, endpoints.port) for address in endpoints.addresses]
    return tuple(
        dict.fromkeys(
            f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
            for address, port in addresses
        )
    )


def job_template_of(
    cluster: OpenBaoCluster,
    job: Job,
    image: str,
    login: JobLogin,
    installation: Installation,
    forbidden: tuple[str, ...],
) -> JobTemplate:
    """Build the Job template."""
    spec, key = cluster.spec, key_of(cluster)
    hardening = spec.workload_hardening
    return JobTemplate(
        cluster=key.name,
        namespace=key.namespace,
        image=image,
        account=names.job_service_account(key.name, job),
        audience=_audience(cluster, installation),
        login=login,
        authority=authority_of(cluster),
        server_name=tls_names.server_name(cluster),
        servers=servers_of(cluster),
        forbidden=forbidden,
        pull_secrets=tuple(secret.name for secret in spec.image_pull_secrets),
        fixed_ids=installation.platform != "openshift",
        confined=hardening is not None and hardening.app_armor_enabled,
        nodes=_nodes(cluster),
    )


def _audience(cluster: OpenBaoCluster, installation: Installation) -> str:
    """Return the audience that the roles of the jobs accept: that of the operator's own role."""
    login = cluster.operator_login_status
    if installation.shared_audience and login is not None and login.shared_audience:
        return installation.audience
    return installation.audience_of(key_of(cluster))


def key_of(cluster: OpenBaoCluster) -> ObjectKey:
    """Return namespace and name."""
    return ObjectKey(cluster.metadata.namespace, cluster.metadata.name)


def servers_of(cluster: OpenBaoCluster) -> tuple[str, ...]:
    """Name the pods that may lead: the desired ones, and those that are about to be removed.

    During a blue/green upgrade, the same number of each pool.
    """
    raft = cluster.status.admin_ops.raft if cluster.status.admin_ops else None
    members = raft.voters + raft.non_voters - (raft.read_replicas or 0) if raft else 0
    count = max(cluster.spec.replicas, min(members, ORDINALS_MAX))
    return tuple(pool.pod(ordinal) for pool in voter_pools(cluster) for ordinal in range(count))


def _nodes(cluster: OpenBaoCluster) -> dict[str, Any]:
    """Return the nodes that the cluster may use, without the anti-affinity of its servers."""
    scheduling = cluster.spec.scheduling.to_object() if cluster.spec.scheduling else {}
    return {key: scheduling[key] for key in ("nodeSelector", "tolerations") if scheduling.get(key)}
