"""Sets up the operator's login at a cluster without self-init, once, with its root token.

The operator tries its own login first. If it works, the set-up is complete, because the operator's
own role is written last. The status records the version of the Secret that was used: if the login
is refused later, the same token is not used again.

Called by `managers.cluster.adminops.keys`.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_login import OperatorLoginStatus
from contracts.naming import names
from managers.bao.client import Bao, Denied
from managers.bao.login import Logins, TokenSource
from managers.cluster.observe.observer import ClusterObserver
from managers.cluster.resolve.operator_login import operator_login
from managers.jwt_auth.actions import read_operator_login, set_up
from managers.jwt_auth.decide import (
    MISSING,
    issuer_unknown,
    refused_login_status,
    root_token_missing,
    set_up_refused,
    trusted_status,
)
from runtime.apply.ownership import Owner

NO_SECRET = "none"  # noqa: S105 - the version of a Secret that does not exist
"""In the status: the login worked, and the Secret did not exist."""


@dataclass(frozen=True, slots=True)
class _Leader:
    """A session with the leader of a cluster, and the operator's own login there."""

    bao: Bao
    address: str
    login: TokenSource


class LoginSetup:
    """Checks the login of one cluster, and sets it up if the root token was not used yet."""

    def __init__(self, observer: ClusterObserver, logins: Logins) -> None:
        self._observer = observer
        self._logins = logins

    async def check(
        self, bao: Bao, address: str, cluster: OpenBaoCluster, owner: Owner
    ) -> OperatorLoginStatus:
        """Return the status of the login. A login that works costs no request and no read.

        Raises BaoError when the leader does not answer, and the errors of the API server.
        """
        before = cluster.operator_login_status or OperatorLoginStatus()
        used = before.root_token_secret
        leader = _Leader(bao, address, self._logins.of(owner))
        oidc = cluster.spec.self_init.oidc if cluster.spec.self_init else None
        current = await read_operator_login(
            bao,
            address,
            leader.login,
            await self._observer.token_issuer(),
            oidc.issuer if oidc else None,
            # Keys that were never compared cannot be outdated.
            before if before.keys else None,
        )
        if current is None or not current.reason:
            used = used or await self._logins.root_token_version(owner) or NO_SECRET
            return _with_secret(current or OperatorLoginStatus(), used)
        if current.reason == MISSING:
            # Without a token of the API server no login can work.
            return _with_secret(current, used)
        version = await self._logins.root_token_version(owner)
        if version in ("", used):
            return _with_secret(_unchanged(owner, current, before, exists=bool(version)), used)
        return await self._set_up(leader, cluster, owner, _with_secret(current, used))

    async def _set_up(
        self, leader: _Leader, cluster: OpenBaoCluster, owner: Owner, current: OperatorLoginStatus
    ) -> OperatorLoginStatus:
        """Set up the login. This version of the Secret counts as used, whatever OpenBao answers."""
        secret, used = names.root_token_secret(owner.name), current.root_token_secret
        issuer = await self._observer.token_issuer()
        if issuer is None or not issuer.public_keys:
            return _with_secret(issuer_unknown(secret, current), used)
        root_token = await self._logins.root_token(owner)
        if root_token is None:
            return current
        version, source = root_token
        bootstrap = operator_login(cluster.spec, owner, issuer, self._observer.installation)
        try:
            token = await source.token(leader.bao, leader.address)
            await set_up(leader.bao, leader.address, token, bootstrap)
            await leader.login.token(leader.bao, leader.address)
        except Denied as error:
            return _with_secret(set_up_refused(str(error), secret, current), version)
        return _with_secret(trusted_status(issuer), version)


def _unchanged(
    owner: Owner, current: OperatorLoginStatus, before: OperatorLoginStatus, *, exists: bool
) -> OperatorLoginStatus:
    """Return the status when there is no unused root token."""
    secret = names.root_token_secret(owner.name)
    if current.keys:
        return refused_login_status(secret, current)
    # The cause of the failed set-up is more useful than the refused login.
    return before if exists else root_token_missing(secret)


def _with_secret(status: OperatorLoginStatus, version: str) -> OperatorLoginStatus:
    return status.model_copy(update={"root_token_secret": version})
