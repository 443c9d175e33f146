"""The table of effects: what a plan may ask for beside the apply of objects, by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import managers.bootstrap.plan as bootstrap
import managers.certs.plan as certs
import managers.workload.plan as workload
from contracts.desired import Effect
from contracts.resolved import Resolved
from managers.access.context import Context
from managers.bootstrap.run import draw_root_token, draw_unseal_key
from managers.certs.run import issue_authority, issue_server_certificate
from managers.workload.run import replace_pod

Run = Callable[[Context, Resolved, Effect], Awaitable[None]]

EFFECTS: Mapping[str, Run] = {
    bootstrap.DRAW_UNSEAL_KEY: draw_unseal_key,
    bootstrap.DRAW_ROOT_TOKEN: draw_root_token,
    certs.ISSUE_AUTHORITY: issue_authority,
    certs.ISSUE_SERVER_CERTIFICATE: issue_server_certificate,
    workload.REPLACE_POD: replace_pod,
}


async def run_effects(context: Context, resolved: Resolved, effects: tuple[Effect, ...]) -> None:
    """Run the effects of a plan one after the other; the first error ends the pass.

    Each is safe to repeat: a pass that was cut short asks for what is still missing.
    """
    for effect in effects:
        await EFFECTS[effect.name](context, resolved, effect)
