"""Whether the operator and the Jobs of an upgrade can log in to OpenBao. Pure.

The operator reads the raft members from the leader, and the Jobs of an upgrade change them. Each
has its own login. managers.bao.login provides the operator's token.
"""

from __future__ import annotations

from contracts.api.cluster.spec import OpenBaoCluster


def jobs_can_log_in(cluster: OpenBaoCluster) -> bool:
    """Report whether a Job of an upgrade can log in."""
    upgrade = cluster.spec.upgrade
    has_own_login = bool(upgrade and (upgrade.jwt_auth_role or upgrade.token_secret_ref))
    return has_own_login or cluster.has_job_roles
