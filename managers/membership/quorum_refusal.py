"""Interprets a refusal of the quorum request by OpenBao. Pure.

Called by managers.cluster.observe.observer with the answer of managers.membership.quorum. A refusal
is not a permission: if OpenBao answered before, the operator waits until a user restores the
access. If it never answered, the operator relies on the readiness of the pods, as without a login.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from contracts.api.cluster.job_roles import OPERATOR_ROLE
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status import ClusterStatus
from contracts.api.rules.self_init import JWT_MOUNT
from contracts.naming import names
from contracts.records.observed import Quorum

MEMBERS: Final = "sys/storage/raft/configuration"
STATE: Final = "sys/storage/raft/autopilot/state"
INDEX: Final = "sys/leader"
LOGIN: Final = f"auth/{JWT_MOUNT}/login"
TOKEN: Final = "serviceaccounts/token"  # noqa: S105 - a subresource of the API server

_VERIFY = "condition OperatorLoginReady reports when it works"
_STEPS: Mapping[str, str] = {
    LOGIN: f"correct the role {OPERATOR_ROLE} at auth/{JWT_MOUNT} as in docs/first-boot.md; "
    + _VERIFY,
    TOKEN: f"grant the operator the right to create {TOKEN} of its ServiceAccount; {_VERIFY}",
}
_OPEN: Mapping[str, str] = {
    INDEX: f"let the operator reach the servers directly: OpenBao serves {INDEX} without a login"
}


def interpret(answer: Quorum, cluster: OpenBaoCluster) -> Quorum | None:
    """Return the quorum that decisions use, with the required user action after a refusal.

    None for a refusal without an earlier answer. If the status is lost, an earlier answer is not
    known until the members are read again.
    """
    if not answer.refused_path:
        return answer
    if not _was_answered(cluster.status):
        return None
    return replace(answer, error=f"{answer.error}: {_next_step(answer.refused_path, cluster)}")


def _was_answered(status: ClusterStatus) -> bool:
    """Report whether the members were ever read: that needs the same login and the same leader."""
    return status.admin_ops is not None and status.admin_ops.raft is not None


def _next_step(path: str, cluster: OpenBaoCluster) -> str:
    if path in _OPEN:
        return _OPEN[path]
    if path == LOGIN and not cluster.spec.self_initializes:
        secret = names.root_token_secret(cluster.metadata.name)
        return (
            f"correct the role {OPERATOR_ROLE} at auth/{JWT_MOUNT}, or put a token that may write "
            f"auth methods and policies into Secret {secret}, so that the operator sets up its "
            f"login again; {_VERIFY}"
        )
    policy = f"grant the policy {OPERATOR_ROLE} in OpenBao the capability read on {path}"
    return _STEPS.get(path, policy)
