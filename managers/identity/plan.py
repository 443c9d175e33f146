"""Plan of the identity: ServiceAccounts, Role and RoleBinding. Pure.

A server labels its own pod (service registration) and needs no other access to the API. A job
writes the status of its own run, with rights that exist only during the run. Called by
`managers.cluster.plan.steps`.
"""

from __future__ import annotations

from collections.abc import Iterator

from contracts.builders.metadata import cluster_object
from contracts.naming import names
from contracts.pools.voter_pool import ServerPool
from contracts.records.desired import Named, Plan
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from runtime.apply.intent import Intent
from runtime.builtin_kinds import ROLE, ROLE_BINDING, SERVICE_ACCOUNT
from runtime.memo import memoize
from runtime.types import ObjectKey


def plan(resolved: Resolved, observed: Observed) -> Plan:
    """Plan an account for the server pods, with rights on these pods by name.

    If the spec names another account, the former account and its rights are kept until the last pod
    that uses them is deleted: without them, the pod could not report whether it is the leader. They
    are kept but not applied, so that a pod of a user grants no rights to the account that it names.
    """
    voters = tuple(pod.ordinal for pod in observed.pods)
    readers = tuple(pod.ordinal for pod in observed.read.pods)
    green_pods = tuple(pod.name for pod in observed.green.pods)
    account = () if resolved.reuses_account else (_account(resolved),)
    return Plan(
        intents=(
            *account,
            _role(resolved, voters, readers, green_pods),
            _binding(resolved),
            *_job_accounts(resolved),
        ),
        retained=tuple(_other_accounts(resolved, observed)),
    )


def _other_accounts(resolved: Resolved, observed: Observed) -> Iterator[Named]:
    """Return the objects of every other account that a pod uses or may start with."""
    pools = (observed.green, observed.read)
    sets = (observed.stateful_set, *(pool.stateful_set for pool in pools))
    account_names = {pod.service_account for pod in observed.servers}
    account_names |= {live.service_account for live in sets if live is not None}
    for account in sorted(account_names - {"", resolved.service_account}):
        if len(account) > names.SERVICE_ACCOUNT_NAME_MAX:
            # No spec can contain a longer name.
            continue
        yield SERVICE_ACCOUNT, ObjectKey(resolved.namespace, account)
        yield ROLE, ObjectKey(resolved.namespace, names.role(account))
        yield ROLE_BINDING, ObjectKey(resolved.namespace, names.role_binding(account))


@memoize
def _account(resolved: Resolved) -> Intent:
    return cluster_object(
        resolved,
        SERVICE_ACCOUNT,
        resolved.service_account,
        {"automountServiceAccountToken": False},
        annotations=resolved.service_account_annotations,
    )


@memoize
def _job_accounts(resolved: Resolved) -> tuple[Intent, ...]:
    """Plan accounts without rights: each run has its own Role (managers.jobs)."""
    return tuple(
        cluster_object(
            resolved,
            SERVICE_ACCOUNT,
            account.name,
            {"automountServiceAccountToken": False},
            annotations=account.annotations,
        )
        for account in resolved.job_accounts
    )


@memoize
def _role(
    resolved: Resolved,
    voters: tuple[int, ...],
    readers: tuple[int, ...],
    green_pods: tuple[str, ...] = (),
) -> Intent:
    # The list includes pods that still run during a scale-down. It is sorted by ordinal: an
    # unordered list would be written in every reconcile.
    desired_readers = resolved.read.replicas if resolved.read is not None else 0
    voter_ordinals = {*range(max(3, resolved.replicas)), *voters}
    reader_ordinals = {*range(desired_readers), *readers}
    pods = [
        *(resolved.voter_pool.pod(ordinal) for ordinal in sorted(voter_ordinals)),
        *dict.fromkeys((*_green_pods(resolved), *green_pods)),
        *(names.read_pod(resolved.name, ordinal) for ordinal in sorted(reader_ordinals)),
    ]
    return cluster_object(
        resolved,
        ROLE,
        names.role(resolved.service_account),
        {
            "rules": [
                {
                    "apiGroups": [""],
                    "resources": ["pods"],
                    "resourceNames": pods,
                    "verbs": ["get", "patch", "update"],
                }
            ]
        },
    )


def _green_pods(resolved: Resolved) -> tuple[str, ...]:
    """Return the names of the pods of the green pool."""
    green = resolved.green
    if green is None:
        return ()
    voters = ServerPool(resolved.name, green.revision)
    return tuple(voters.pod(ordinal) for ordinal in range(green.replicas))


@memoize
def _binding(resolved: Resolved) -> Intent:
    return cluster_object(
        resolved,
        ROLE_BINDING,
        names.role_binding(resolved.service_account),
        {
            "roleRef": {
                "apiGroup": ROLE.group,
                "kind": ROLE.kind,
                "name": names.role(resolved.service_account),
            },
            "subjects": [
                {
                    "kind": "ServiceAccount",
                    "name": resolved.service_account,
                    "namespace": resolved.namespace,
                }
            ],
        },
    )
