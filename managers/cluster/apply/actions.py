"""The table of effects by name: what a plan may request in addition to the apply of objects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import managers.bootstrap.plan as bootstrap
import managers.certs.acme as acme
import managers.certs.plan as certs
import managers.workload.plan as workload
from contracts.records.desired import Effect
from contracts.records.resolved import Resolved
from managers.bao.login import Logins
from managers.bootstrap.actions import draw_root_token, draw_unseal_key, make_audit_claim
from managers.bootstrap.audit_storage import MAKE_AUDIT_CLAIM
from managers.certs.actions import (
    drop_authority,
    issue_authority,
    issue_server_certificate,
    make_acme_cache_claim,
    prepare_authority,
    promote_authority,
)
from managers.context.context import Context
from managers.upgrade.actions import UpgradeActions
from managers.workload.actions.claims import grow_claim, recreate_set, take_claim
from managers.workload.actions.fencing import fence_pod, mark_first, mark_pod, ungate_pod
from managers.workload.actions.pods import (
    mark_log,
    reload_pod,
    replace_pod,
    replace_unstarted,
    step_down,
)
from managers.workload.actions.raft_peers import delete_claim, remove_peer
from managers.workload.actions.statefulsets import delete_read_set
from managers.workload.objects.annotations import MARK_FIRST, MARK_POD
from managers.workload.read_pool import DELETE_READ_SET
from managers.workload.rollout.fencing import FENCE_POD, UNGATE_POD
from managers.workload.rollout.never_started import REPLACE_UNSTARTED
from managers.workload.rollout.next_pod import MARK_LOG, STEP_DOWN
from managers.workload.rollout.reload import RELOAD_POD
from managers.workload.scale.leftover_pvcs import DELETE_CLAIM
from managers.workload.scale.raft_peers import REMOVE_PEER
from managers.workload.storage.recreate_statefulset import RECREATE_SET
from managers.workload.storage.resize import GROW_CLAIM, TAKE_CLAIM
from runtime.apply.ownership import Owner

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
    DELETE_READ_SET: delete_read_set,
    workload.REPLACE_POD: replace_pod,
    REPLACE_UNSTARTED: replace_unstarted,
    FENCE_POD: fence_pod,
    UNGATE_POD: ungate_pod,
    MARK_POD: mark_pod,
    MARK_FIRST: mark_first,
    GROW_CLAIM: grow_claim,
    TAKE_CLAIM: take_claim,
    DELETE_CLAIM: delete_claim,
    RECREATE_SET: recreate_set,
}

# The effects that send requests to the servers, with the operator's login.
SERVER_EFFECTS: Mapping[str, ServerRun] = {
    MARK_LOG: mark_log,
    STEP_DOWN: step_down,
    REMOVE_PEER: remove_peer,
}


class ClusterEffects:
    """Runs effects by name."""

    def __init__(
        self, context: Context, logins: Logins, upgrades: UpgradeActions | None = None
    ) -> None:
        self.context = context
        self._upgrades = upgrades
        self._table: dict[str, Run] = {**EFFECTS, **(upgrades.table if upgrades else {})}
        for name, run in SERVER_EFFECTS.items():
            self._table[name] = partial(_with_login, logins, run)

    async def begin(self, owner: Owner, effects: tuple[Effect, ...]) -> None:
        """Run the effects of an upgrade decision, before the plan."""
        if effects and self._upgrades is not None:
            await self._upgrades.run(self.context, owner, effects)

    async def run(self, resolved: Resolved, effects: tuple[Effect, ...]) -> None:
        """Run the effects of a plan in order; the first error ends the reconcile.

        Each is safe to repeat: after an interruption the next plan requests what is missing.
        """
        for effect in effects:
            await self._table[effect.name](self.context, resolved, effect)


async def _with_login(
    logins: Logins, run: ServerRun, context: Context, resolved: Resolved, effect: Effect
) -> None:
    await run(context, logins, resolved, effect)
