"""Who of an upgrade can log in to OpenBao, as far as the spec tells. Pure.

The operator asks the leader who is a member, the Jobs of an upgrade change it: each logs in for
itself. managers.bao.login is where the operator's token comes from.
"""

from __future__ import annotations

from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster


def asks_by_job(cluster: OpenBaoCluster) -> bool:
    """Tell whether a Job of an upgrade can log in."""
    wish = cluster.spec.upgrade
    own = bool(wish and (wish.jwt_auth_role or wish.token_secret_ref))
    return own or cluster.spec.wants_operator_login


def asks_itself(spec: ClusterSpec) -> bool:
    """Tell whether the operator can have a login: its own one, or the root token it stored."""
    return spec.wants_operator_login or not spec.self_initializes
