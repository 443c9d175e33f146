"""ServiceAccounts of the servers and of the jobs, and condition ServiceAccountReady. Pure.

The operator uses an account that a user created, and neither writes nor deletes it. An account with
another owner is an ownership conflict, because it is deleted with its owner.
"""

from __future__ import annotations

from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.api.cluster.status_backup import Operation
from contracts.conditions.condition import ConditionUpdate
from contracts.naming import labels, names
from contracts.naming.names import Job
from contracts.records.environment import AccountFacts
from contracts.records.observed import Observed
from contracts.records.resolved import JobAccount
from managers.context.installation import Installation
from runtime.outcome import Blocked


def reuses_account(account: AccountFacts | None) -> bool:
    """Return whether the account of the spec exists already and has no owner."""
    return account is not None and account.free


def powerful_account(cluster: OpenBaoCluster, installation: Installation) -> Blocked | None:
    """Refuse the operator's own account: no server may have its rights.

    The rules of the API reject the other reserved accounts (`default`, those of jobs). They do not
    know the name of the operator's account.
    """
    account = cluster.spec.service_account
    name = account.name if account else None
    if cluster.metadata.namespace != installation.namespace or name != installation.service_account:
        return None
    return Blocked(
        "InvalidSpec",
        f"spec.serviceAccount.name: {name} is the ServiceAccount of the operator, and no server "
        "may have its rights; choose another name or remove the field",
    )


def service_account_ready(spec: ClusterSpec, observed: Observed) -> ConditionUpdate | None:
    """Return the condition for an account that a user created; None if the operator creates it."""
    account = observed.account
    if account is None or not account.free:
        return None
    kind = "ServiceAccountReady"
    desired = (spec.service_account.annotations if spec.service_account else None) or {}
    missing = sorted(key for key, value in desired.items() if account.annotations.get(key) != value)
    if missing:
        message = (
            f"The operator did not create ServiceAccount {account.name}, so it does not write "
            f"spec.serviceAccount.annotations to it: set {', '.join(missing)} yourself"
        )
        return ConditionUpdate(kind, "False", "ServiceAccountAnnotationsMissing", message)
    message = f"The operator did not create ServiceAccount {account.name} and does not change it"
    return ConditionUpdate(kind, "True", "ServiceAccountReused", message)


def account_name(cluster: OpenBaoCluster) -> str | None:
    """Return the account of the spec, unless it has the operator's default name."""
    account = cluster.spec.service_account
    name = account.name if account else None
    # The default name is reserved: an account with this name and another owner is a conflict.
    return None if name == names.service_account(cluster.metadata.name) else name


# A running job must be able to report its result, even if the spec changed after its start.
_RUNNING: dict[Operation, Job] = {
    "Backup": "backup",
    "Restore": "restore",
    "Upgrade": "upgrade",
}


def job_accounts(cluster: OpenBaoCluster) -> tuple[JobAccount, ...]:
    """Return the job accounts of a cluster: for requested features and for running jobs.

    A cluster with backups also needs restores. Every cluster is upgraded at some time, so a cluster
    that has a role for upgrade jobs, or will have it, has their account. Accounts of jobs that use
    a store have the cloud identity of spec.backup.
    """
    spec, lock = cluster.spec, cluster.status.operation_lock
    jobs: set[Job] = set()
    if spec.backup is not None:
        jobs |= {"backup", "restore"}
    if spec.restore is not None:
        jobs.add("restore")
    if spec.upgrade is not None or spec.wants_operator_login or not spec.self_initializes:
        jobs.add("upgrade")
    running_job = _RUNNING.get(lock.operation) if lock else None
    if running_job is not None:
        jobs.add(running_job)
    identity = spec.backup.target.workload_identity if spec.backup else None
    annotations = (identity.service_account_annotations if identity else None) or {}
    cloud_annotations = labels.users_own(annotations)
    return tuple(
        JobAccount(
            names.job_service_account(cluster.metadata.name, job),
            {} if job == "upgrade" else cloud_annotations,
        )
        for job in sorted(jobs)
    )
