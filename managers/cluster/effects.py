"""The table of effects: what a plan may ask for beside the apply of objects, by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import managers.bootstrap.plan as bootstrap
import managers.certs.acme as acme
import managers.certs.plan as certs
import managers.workload.plan as workload
from contracts.desired import Effect
from contracts.resolved import Resolved
from managers.access.context import Context
from managers.bao.login import Logins
from managers.bootstrap.audit_storage import MAKE_AUDIT_CLAIM
from managers.bootstrap.run import draw_root_token, draw_unseal_key, make_audit_claim
from managers.certs.run import (
    drop_authority,
    issue_authority,
    issue_server_certificate,
    make_acme_cache_claim,
    prepare_authority,
    promote_authority,
)
from managers.workload.reload import RELOAD_POD
from managers.workload.replace import STEP_DOWN
from managers.workload.run import reload_pod, replace_pod, step_down

Run = Callable[[Context, Resolved, Effect], Awaitable[None]]
ServerRun = Callable[[Context, Logins, Resolved, Effect], Awaitable[None]]

EFFECTS: Mapping[str, Run] = {
    bootstrap.DRAW_UNSEAL_KEY: draw_unseal_key,
    bootstrap.DRAW_ROOT_TOKEN: draw_root_token,
    MAKE_AUDIT_CLAIM: make_audit_claim,
    certs.ISSUE_AUTHORITY: issue_authority,
    certs.ISSUE_SERVER_CERTIFICATE: issue_server_certificate,
    certs.PREPARE_AUTHORITY: prepare_authority,
    certs.PROMOTE_AUTHORITY: promote_authority,
    certs.DROP_AUTHORITY: drop_authority,
    acme.MAKE_CACHE_CLAIM: make_acme_cache_claim,
    RELOAD_POD: reload_pod,
    workload.REPLACE_POD: replace_pod,
}

# Those that talk to the servers, with the operator's login.
SERVER_EFFECTS: Mapping[str, ServerRun] = {
    STEP_DOWN: step_down,
}


async def run_effects(
    context: Context, logins: Logins, resolved: Resolved, effects: tuple[Effect, ...]
) -> None:
    """Run the effects of a plan one after the other; the first error ends the pass.

    Each is safe to repeat: a pass that was cut short asks for what is still missing.
    """
    for effect in effects:
        if effect.name in SERVER_EFFECTS:
            await SERVER_EFFECTS[effect.name](context, logins, resolved, effect)
        else:
            await EFFECTS[effect.name](context, resolved, effect)
