"""Who of an upgrade can log in to OpenBao, as far as the spec tells. Pure.

The operator asks the leader who is a member, the Jobs of an upgrade change it: each logs in for
itself. managers.bao.login is where the operator's token comes from.
"""

from __future__ import annotations

from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster


def jobs_can_log_in(cluster: OpenBaoCluster) -> bool:
    """Tell whether a Job of an upgrade can log in."""
    upgrade = cluster.spec.upgrade
    has_own_login = bool(upgrade and (upgrade.jwt_auth_role or upgrade.token_secret_ref))
    return has_own_login or cluster.spec.wants_operator_login


def operator_can_log_in(spec: ClusterSpec) -> bool:
    """Tell whether the operator can have a login: its own one, or the root token it stored."""
    return spec.wants_operator_login or not spec.self_initializes
