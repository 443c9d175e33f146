"""Checks the operator's login, sets it up, and updates the keys that verify its tokens.

Called by `managers.cluster.adminops`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts.api.cluster.status_login import OperatorLoginStatus
from contracts.hcl.self_init import OidcBootstrap
from contracts.records.observed import TokenIssuer
from managers.bao.client import Bao, Denied
from managers.bao.login import NoToken, TokenSource
from managers.jwt_auth.decide import (
    after_login,
    correction,
    due,
    initial_settings,
    outdated_status,
    refused_status,
    trusted_status,
    without_token,
    writes_after_settings,
)


async def read_operator_login(
    bao: Bao,
    address: str,
    login: TokenSource,
    issuer: TokenIssuer | None,
    spec_issuer: str | None,
    before: OperatorLoginStatus | None,
) -> OperatorLoginStatus | None:
    """Return the status of the login. With a valid token and unchanged keys it sends no request.

    A failed login is checked each time, because a user may have corrected it. Raises BaoError if
    the server does not respond.
    """
    try:
        await login.token(bao, address)
    except NoToken as error:
        return without_token(str(error), before)
    except Denied as error:
        # Keys are outdated only if they were compared before.
        if issuer is not None and before is not None and before.keys and due(issuer, before):
            return outdated_status(issuer, str(error))
        return refused_status(str(error), before)
    if issuer is not None and (due(issuer, before) or (before and before.problem)):
        return await renew(bao, address, login, issuer, spec_issuer)
    return after_login(before)


async def renew(
    bao: Bao, address: str, login: TokenSource, issuer: TokenIssuer, spec_issuer: str | None
) -> OperatorLoginStatus:
    """Compare the keys that the login trusts with those of the API server, and correct them.

    Raises BaoError if the server does not respond.
    """
    try:
        token = await login.token(bao, address)
        desired_settings = correction(await bao.login_settings(address, token), issuer, spec_issuer)
        if desired_settings is not None:
            await bao.set_login_settings(address, token, desired_settings)
    except Denied as error:
        return outdated_status(issuer, str(error))
    return trusted_status(issuer)


async def set_up(bao: Bao, address: str, token: str, oidc: OidcBootstrap) -> None:
    """Create the auth method, its settings, and the policies and roles of jobs and operator.

    Each write is safe to repeat, so an interruption is harmless. Raises Denied, BaoError.
    """
    await bao.enable_login(address, token)
    settings = initial_settings(await _current_settings(bao, address, token), oidc)
    if settings is not None:
        await bao.set_login_settings(address, token, settings)
    for call in writes_after_settings(oidc):
        await bao.write(address, token, call.path, call.data or {})


async def _current_settings(bao: Bao, address: str, token: str) -> Mapping[str, Any]:
    try:
        return await bao.login_settings(address, token)
    except Denied as error:
        if error.code != 404:
            raise
        # The auth method was never configured.
        return {}
