"""Telling OpenBao about new keys of the API server, as long as the operator can still log in."""

from __future__ import annotations

from contracts.api.status_login import OperatorLoginStatus
from contracts.observed import TokenIssuer
from managers.bao.client import Bao, Denied
from managers.bao.login import TokenSource
from managers.trust.plan import correction, known, refused


async def renew(
    bao: Bao, address: str, login: TokenSource, issuer: TokenIssuer, chosen: str | None
) -> OperatorLoginStatus:
    """Compare the keys that the login trusts with those of the API server, and correct them.

    Raises BaoError when the server does not answer.
    """
    try:
        token = await login.token(bao, address)
        wanted = correction(await bao.login_settings(address, token), issuer, chosen)
        if wanted is not None:
            await bao.set_login_settings(address, token, wanted)
    except Denied as error:
        return refused(issuer, str(error))
    return known(issuer)
