"""The table of effects by type: what a plan may request in addition to the apply of objects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from contracts.records.effects import (
    AdoptPvc,
    DeleteClaim,
    DeleteReadStatefulSet,
    DrawRootToken,
    DrawUnsealKey,
    DropAuthority,
    Effect,
    FencePod,
    GrowClaim,
    IssueAuthority,
    IssueServerCertificate,
    LabelPod,
    MakeAcmeCacheClaim,
    MakeAuditClaim,
    MarkFirst,
    MarkLog,
    MarkPod,
    PrepareAuthority,
    PromoteAuthority,
    RecreateStatefulSet,
    ReloadPod,
    RemovePeer,
    ReplacePod,
    ReplaceUnstarted,
    StepDown,
    UngatePod,
)
from contracts.records.resolved import Resolved
from managers.bao.login import Logins
from managers.bootstrap.actions import draw_root_token, draw_unseal_key, make_audit_claim
from managers.certs.actions import (
    drop_authority,
    issue_authority,
    issue_server_certificate,
    make_acme_cache_claim,
    prepare_authority,
    promote_authority,
)
from managers.context.context import Context
from managers.context.effect_handler import EffectHandler, SomeEffect, handler
from managers.upgrade.actions import UpgradeActions
from managers.workload.actions.claims import adopt_pvc, grow_claim, recreate_stateful_set
from managers.workload.actions.fencing import fence_pod, label_pod, mark_first, mark_pod, ungate_pod
from managers.workload.actions.pods import (
    mark_log,
    reload_pod,
    replace_pod,
    replace_unstarted,
    step_down,
)
from managers.workload.actions.raft_peers import delete_claim, remove_peer
from managers.workload.actions.statefulsets import delete_read_stateful_set
from runtime.apply.ownership import Owner

Handlers = Mapping[type[Effect], EffectHandler[Resolved, Effect]]

EFFECTS: Handlers = dict(
    (
        handler(DrawUnsealKey, draw_unseal_key),
        handler(DrawRootToken, draw_root_token),
        handler(MakeAuditClaim, make_audit_claim),
        handler(IssueAuthority, issue_authority),
        handler(IssueServerCertificate, issue_server_certificate),
        handler(PrepareAuthority, prepare_authority),
        handler(PromoteAuthority, promote_authority),
        handler(DropAuthority, drop_authority),
        handler(MakeAcmeCacheClaim, make_acme_cache_claim),
        handler(ReloadPod, reload_pod),
        handler(DeleteReadStatefulSet, delete_read_stateful_set),
        handler(ReplacePod, replace_pod),
        handler(ReplaceUnstarted, replace_unstarted),
        handler(FencePod, fence_pod),
        handler(UngatePod, ungate_pod),
        handler(MarkPod, mark_pod),
        handler(MarkFirst, mark_first),
        handler(LabelPod, label_pod),
        handler(GrowClaim, grow_claim),
        handler(AdoptPvc, adopt_pvc),
        handler(DeleteClaim, delete_claim),
        handler(RecreateStatefulSet, recreate_stateful_set),
    )
)


def server_effects(logins: Logins) -> Handlers:
    """Return the effects that send requests to the servers, with the operator's login."""
    return dict(
        (
            handler(MarkLog, _with_login(logins, mark_log)),
            handler(StepDown, _with_login(logins, step_down)),
            handler(RemovePeer, _with_login(logins, remove_peer)),
        )
    )


class ClusterEffects:
    """Runs effects by type."""

    def __init__(
        self, context: Context, logins: Logins, upgrades: UpgradeActions | None = None
    ) -> None:
        self.context = context
        self._upgrades = upgrades
        self.table: Handlers = {
            **EFFECTS,
            **(upgrades.table if upgrades else {}),
            **server_effects(logins),
        }

    async def begin(self, owner: Owner, effects: tuple[Effect, ...]) -> None:
        """Run the effects of an upgrade decision, before the plan."""
        if effects and self._upgrades is not None:
            await self._upgrades.run(self.context, owner, effects)

    async def run(self, resolved: Resolved, effects: tuple[Effect, ...]) -> None:
        """Run the effects of a plan in order; the first error ends the reconcile.

        Each is safe to repeat: after an interruption the next plan requests what is missing.
        """
        for effect in effects:
            await self.table[type(effect)](self.context, resolved, effect)


def _with_login(
    logins: Logins, run: Callable[[Context, Logins, Resolved, SomeEffect], Awaitable[None]]
) -> EffectHandler[Resolved, SomeEffect]:
    async def with_login(context: Context, resolved: Resolved, effect: SomeEffect) -> None:
        await run(context, logins, resolved, effect)

    return with_login
