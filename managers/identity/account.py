"""Under which ServiceAccount the servers may run, and what is said of one that is not ours. Pure.

An account that a person made is used as it is: nothing is written to it and nothing deletes it.
One that belongs to another object stays a conflict, because it goes when that object goes.
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
    """Tell whether the account that the spec names is there already, and a person's own."""
    return account is not None and account.free


def powerful_account(cluster: OpenBaoCluster, installation: Installation) -> Blocked | None:
    """Refuse the operator's own account: its rights are not those of a server.

    The rules of the API refuse the others that are never meant (`default`, those of jobs); this
    one they do not know.
    """
    account = cluster.spec.service_account
    name = account.name if account else None
    if cluster.metadata.namespace != installation.namespace or name != installation.service_account:
        return None
    return Blocked(
        "InvalidSpec",
        f"spec.serviceAccount.name: {name} is the account of the operator, whose rights no server "
        "may have; choose another name or remove the field",
    )


def service_account_ready(spec: ClusterSpec, observed: Observed) -> ConditionUpdate | None:
    """Judge an account that was there already; None when the operator makes it."""
    account = observed.account
    if account is None or not account.free:
        return None
    kind = "ServiceAccountReady"
    desired = (spec.service_account.annotations if spec.service_account else None) or {}
    missing = sorted(key for key, value in desired.items() if account.annotations.get(key) != value)
    if missing:
        message = (
            f"ServiceAccount {account.name} was made by somebody else, so spec.serviceAccount."
            f"annotations is not written to it: set {', '.join(missing)} there yourself"
        )
        return ConditionUpdate(kind, "False", "ServiceAccountAnnotationsMissing", message)
    message = f"ServiceAccount {account.name} was made by somebody else and is used as it is"
    return ConditionUpdate(kind, "True", "ServiceAccountReused", message)


def account_name(cluster: OpenBaoCluster) -> str | None:
    """Return the account that the spec names, as far as anybody has to look at it."""
    account = cluster.spec.service_account
    named = account.name if account else None
    # Our own name is nobody else's to take: what stands there and is not ours is a conflict.
    return None if named == names.service_account(cluster.metadata.name) else named


# A job that runs must be able to say how it ended, whatever became of the spec meanwhile.
_RUNNING: dict[Operation, Job] = {
    "Backup": "backup",
    "Restore": "restore",
    "Upgrade": "upgrade",
}


def job_accounts(cluster: OpenBaoCluster) -> tuple[JobAccount, ...]:
    """Tell which accounts of jobs a cluster wants: of those that it asks for, and that run.

    Whoever can be backed up can be restored. Every version is followed by another one, so whoever
    gave the jobs of upgrades a role at the first boot has their account from then on. Those that
    reach a store have the identity at the cloud that spec.backup names.
    """
    spec, lock = cluster.spec, cluster.status.operation_lock
    jobs: set[Job] = set()
    if spec.backup is not None:
        jobs |= {"backup", "restore"}
    if spec.restore is not None:
        jobs.add("restore")
    if spec.upgrade is not None or spec.wants_operator_login:
        jobs.add("upgrade")
    running = _RUNNING.get(lock.operation) if lock else None
    if running is not None:
        jobs.add(running)
    identity = spec.backup.target.workload_identity if spec.backup else None
    annotations = (identity.service_account_annotations if identity else None) or {}
    at_cloud = labels.users_own(annotations)
    return tuple(
        JobAccount(
            names.job_service_account(cluster.metadata.name, job),
            {} if job == "upgrade" else at_cloud,
        )
        for job in sorted(jobs)
    )
