"""The key tasks of the adminops reconciler: recovery shares, and its own login.

A task whose status is complete sends no request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status import AdminOpsStatus
from contracts.api.cluster.status_login import OperatorLoginStatus, RecoveryKeysStatus
from contracts.records.observed import PodFacts
from managers.bao.client import Bao
from managers.bao.login import Logins, ServiceAccountLogin, TokenSource
from managers.cluster.adminops.login_setup import LoginSetup
from managers.cluster.observe.observer import ClusterObserver
from managers.context.context import Context
from managers.jwt_auth.actions import read_operator_login
from managers.recovery_keys.actions import copy_shares
from managers.recovery_keys.decide import needs_shares
from runtime.apply.ownership import Owner
from runtime.errors import Transient


class KeyTasks:
    """The tasks of this module, for one cluster at a time."""

    def __init__(self, context: Context, observer: ClusterObserver, logins: Logins) -> None:
        self._context = context
        self._observer = observer
        self._setup = LoginSetup(observer, logins)

    async def run(
        self,
        bao: Bao,
        pods: Sequence[PodFacts],
        login: TokenSource | None,
        cluster: OpenBaoCluster,
        owner: Owner,
    ) -> dict[str, Any]:
        """Run both tasks and return their parts of `status.adminOps`.

        Without a leader, or without a response, they are unchanged. Raises errors of the API
        server.
        """
        before = cluster.status.admin_ops or AdminOpsStatus()
        shares, login_status = before.recovery_keys, before.operator_login
        leader = next(
            (pod for pod in pods if pod.ready and pod.ip and pod.registration.active), None
        )
        if leader is not None:
            try:
                login_status = await self._login_status(bao, leader.ip, login, cluster, owner)
                login_status = _with_audience(login_status, login)
                shares = await self._shares(bao, leader.ip, login, cluster, owner)
            except Transient:
                # The next reconcile retries; a settled cluster has one periodically, too.
                pass
        return {"recovery_keys": shares, "operator_login": login_status}

    async def _shares(
        self,
        bao: Bao,
        address: str,
        login: TokenSource | None,
        cluster: OpenBaoCluster,
        owner: Owner,
    ) -> RecoveryKeysStatus | None:
        before = cluster.status.admin_ops.recovery_keys if cluster.status.admin_ops else None
        if not needs_shares(cluster.spec, before):
            return before
        return await copy_shares(self._context, bao, address, login, cluster.spec, owner)

    async def _login_status(
        self,
        bao: Bao,
        address: str,
        login: TokenSource | None,
        cluster: OpenBaoCluster,
        owner: Owner,
    ) -> OperatorLoginStatus | None:
        if not cluster.spec.self_initializes:
            return await self._setup.check(bao, address, cluster, owner)
        before = cluster.operator_login_status
        oidc = cluster.spec.self_init.oidc if cluster.spec.self_init else None
        if login is None or oidc is None or not cluster.spec.wants_operator_login:
            return before
        issuer = await self._observer.token_issuer()
        return await read_operator_login(bao, address, login, issuer, oidc.issuer, before)


def _with_audience(
    status: OperatorLoginStatus | None, login: TokenSource | None
) -> OperatorLoginStatus | None:
    """Record which audience the servers accepted; Jobs log in with the same one."""
    is_shared = isinstance(login, ServiceAccountLogin) and login.is_shared
    if is_shared == (status is not None and status.shared_audience):
        return status
    return (status or OperatorLoginStatus()).model_copy(update={"shared_audience": is_shared})
