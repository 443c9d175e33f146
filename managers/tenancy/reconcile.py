"""The reconciler of tenants: grants the operator access to a namespace, and revokes it again.

    tenant + clusters -> ownership -> namespace -> Roles, then bindings -> status

The status is written last: the controller reconciles a cluster when its grant is recorded, so the
RBAC must exist before. Composed by `baoctl.controllers.tenant`; called by
`runtime.controller.controller`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from contracts.api.group import API_VERSION, TENANT_KIND, TENANTS
from contracts.api.tenant import InvalidTenantError, OpenBaoTenant, TenantSpec, TenantStatus
from contracts.tenancy import FINALIZER, SecretAccess, access_of
from managers.context.context import MARKS
from managers.tenancy import plan
from managers.tenancy.gate import TARGET_INDEX, by_target, target_of
from managers.tenancy.namespaces import Namespaces, NamespaceState
from managers.tenancy.plan import TenantInstallation
from managers.tenancy.rbac import FIELD_MANAGER, Grants, NamespaceOwnership
from managers.tenancy.revocation_delay import RevocationDelay
from managers.tenancy.status import STATUS_MANAGER, ProvisionedCondition, compute, grants_of
from runtime.apply.intent import Intent
from runtime.apply.ownership import Owner
from runtime.apply.status_client import StatusClient
from runtime.cache.informer import Informer
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.controller.finalizer import Finalizer
from runtime.errors import Forbidden, NotFound
from runtime.memo import memoize
from runtime.outcome import Blocked, Done, Outcome, Wait, combine
from runtime.types import Object, ObjectKey, Request, annotations_of, is_terminating, key_of, uid_of

REFUSED_RECHECK = 60.0
"""Seconds to the next attempt after the API server denied access to a namespace."""
HANDOVER_RECHECK = 2.0
"""Seconds to the next check whether a namespace is deleted or taken over by another tenant."""
NAMES_MAX = 5
"""Maximum number of clusters that a message names."""

access = memoize(access_of)


@dataclass(frozen=True, slots=True)
class _Reconcile:
    """One reconcile of a tenant that owns its namespace."""

    live: Object
    spec: TenantSpec
    namespace: str
    clusters: tuple[Object, ...]
    state: NamespaceState


@dataclass(frozen=True, slots=True)
class TenantDependencies:
    """Dependencies of the reconciler.

    `client` and `namespaces` use the identity of the provisioner, `grants` that of the delegate.
    """

    client: Client
    grants: Grants
    namespaces: Namespaces


class TenantReconciler:
    """Reconciles one namespace with its tenant.

    Guarantees: it writes nothing into a namespace that the tenant may not have; Roles exist before
    bindings, and both before the status that lists them; an unchanged tenant costs no request.
    """

    def __init__(
        self,
        tenants: Informer,
        clusters: Informer,
        dependencies: TenantDependencies,
        clock: Clock,
        installation: TenantInstallation,
    ) -> None:
        tenants.add_index(TARGET_INDEX, by_target)
        self._tenants = tenants
        self._clusters = clusters
        self._grants = dependencies.grants
        self._namespaces = dependencies.namespaces
        self._clock = clock
        self._installation = installation
        self._revocation_delay = RevocationDelay(clock)
        self._statuses = StatusClient(dependencies.client, TENANTS, STATUS_MANAGER, tenants)
        self._finalizer = Finalizer(dependencies.client, TENANTS, FINALIZER, FIELD_MANAGER)

    async def __call__(self, request: Request) -> Outcome:
        """Reconcile a tenant. Raises transient errors, which the controller retries."""
        live = self._tenants.get(request)
        if live is None:
            return Done()
        refusal = self._refusal(live)
        if refusal is not None and not is_terminating(live):
            return await self._report(live, refusal)
        return await self._finalizer.reconcile(live, apply=self._provision, cleanup=self._clean_up)

    def _refusal(self, live: Object) -> Blocked | None:
        if not target_of(live):
            return Blocked("InvalidSpec", "spec.targetNamespace: must name a namespace")
        refusal = plan.violation(live, self._installation)
        if refusal is not None:
            return refusal
        owner = plan.owning_tenant(live, self._tenants_of_target(live), self._installation)
        return None if owner is None else plan.conflict(owner)

    def _tenants_of_target(self, live: Object) -> list[Object]:
        return self._tenants.by_index(TARGET_INDEX, target_of(live))

    def _clusters_of(self, namespace: str) -> tuple[Object, ...]:
        return tuple(sorted(self._clusters.list(namespace), key=key_of))

    async def _provision(self, live: Object) -> Outcome:
        try:
            spec = OpenBaoTenant.from_object(live).spec
        except InvalidTenantError as invalid:
            return await self._report(live, Blocked("InvalidSpec", str(invalid)))
        namespace = spec.target_namespace
        clusters = self._clusters_of(namespace)
        terminating_objects = self._grants.terminating_objects(namespace)
        terminating = any(is_terminating(cluster) for cluster in clusters)
        try:
            state = await self._namespaces.observe(
                namespace, refresh=terminating or bool(terminating_objects)
            )
        except Forbidden as error:
            return await self._report(
                live, Blocked("RejectedByServer", str(error), REFUSED_RECHECK)
            )
        if not state.exists:
            return await self._without_namespace(live, namespace)
        if state.terminating and not clusters:
            return await self._release_namespace(live, namespace)
        this = _Reconcile(live, spec, namespace, clusters, state)
        accesses = [(key_of(cluster).name, access(cluster)) for cluster in clusters]
        ownership = NamespaceOwnership(
            owner_of(live),
            plan.predecessors(live, self._tenants_of_target(live), self._installation),
            terminating=state.terminating,
            provisioning=not (live.get("status") or {}).get("provisioned"),
            replaceable=frozenset() if state.terminating else terminating_objects,
        )
        requested = plan.union(secrets for _, secrets in accesses)
        secrets = self._revocation_delay.keep(namespace, requested)
        outcome = await self._write(this, ownership, secrets)
        return await self._conclude(this, outcome, accesses)

    async def _without_namespace(self, live: Object, namespace: str) -> Outcome:
        self._grants.forget(namespace)
        message = f"namespace {namespace} does not exist"
        wait = Wait("NamespaceNotFound", message, self._namespaces.recheck_after(namespace))
        return await self._report(live, wait)

    async def _release_namespace(self, live: Object, namespace: str) -> Outcome:
        """Release a namespace that is being deleted and has no cluster left."""
        await self._remove_all(live, namespace)
        message = f"namespace {namespace} is being deleted"
        return await self._report(live, Wait("NamespaceTerminating", message, HANDOVER_RECHECK))

    async def _write(
        self, this: _Reconcile, ownership: NamespaceOwnership, secrets: SecretAccess
    ) -> Outcome | None:
        """Ensure every object; return the first Wait or Blocked, else None."""
        desired = plan.desired_objects(
            this.namespace, this.spec, secrets, bool(this.clusters), self._installation
        )
        outcome = await self._all(ownership, desired.roles)
        if outcome is None:
            outcome = await self._all(ownership, desired.bindings)
        if outcome is not None:
            return outcome
        # No object can be created in a terminating namespace, and quota and limits may be gone.
        bounds = None if this.state.terminating else await self._all(ownership, desired.bounds)
        for resource, name in desired.absent:
            key = ObjectKey(this.namespace, name)
            await self._grants.remove(resource, key, ownership.accepted)
        return bounds

    async def _all(
        self, ownership: NamespaceOwnership, intents: Iterable[Intent]
    ) -> Outcome | None:
        """Ensure objects concurrently; a verified object does not yield to the event loop."""
        results = await asyncio.gather(
            *(self._grants.ensure(ownership, intent) for intent in intents), return_exceptions=True
        )
        for result in results:
            if isinstance(result, BaseException):
                raise result
        outcomes = [result for result in results if isinstance(result, Wait | Blocked)]
        return combine(*outcomes) if outcomes else None

    async def _conclude(
        self, this: _Reconcile, outcome: Outcome | None, accesses: list[tuple[str, SecretAccess]]
    ) -> Outcome:
        if isinstance(outcome, Wait | Blocked):
            return await self._report(this.live, outcome)
        condition = ProvisionedCondition(True, "Provisioned", self._provisioned_message(this))
        if is_terminating(this.live):
            condition = ProvisionedCondition(True, "Deleting", _waiting_message(this))
        elif this.state.terminating:
            condition = ProvisionedCondition(
                True,
                "NamespaceTerminating",
                f"The namespace is being deleted. {_waiting_message(this)}",
            )
        status = compute(
            this.live, condition, self._clock.now(), self._installation.reads, grants_of(accesses)
        )
        await self._write_status(this.live, status)
        return Done(self._recheck_after(this.namespace))

    def _provisioned_message(self, this: _Reconcile) -> str:
        count = len(this.clusters)
        return f"The operator can manage clusters in namespace {this.namespace} ({count} now)"

    def _recheck_after(self, namespace: str) -> float | None:
        timers = (
            self._grants.recheck_after(namespace),
            self._namespaces.recheck_after(namespace),
            self._revocation_delay.recheck_after(namespace),
        )
        return min((timer for timer in timers if timer is not None), default=None)

    async def _report(self, live: Object, outcome: Wait | Blocked) -> Outcome:
        condition = ProvisionedCondition(False, outcome.reason, outcome.message)
        status = compute(live, condition, self._clock.now(), self._installation.reads)
        await self._write_status(live, status)
        return outcome

    async def _write_status(self, live: Object, status: TenantStatus) -> None:
        with suppress(NotFound):
            await self._statuses.apply_if_changed(live, status.to_object())

    # --- deletion ---------------------------------------------------------------------------

    async def _clean_up(self, live: Object) -> Outcome:
        namespace = target_of(live)
        if not namespace or plan.violation(live, self._installation) is not None:
            return Done()
        if plan.successor(live, self._tenants_of_target(live), self._installation) is not None:
            return await self._hand_over(live, namespace)
        clusters = self._clusters_of(namespace)
        if clusters:
            outcome = await self._provision(live)
            if not isinstance(outcome, Done):
                return outcome
            message = f"namespace {namespace} still has {len(clusters)} OpenBaoClusters"
            return Wait("Deleting", message, outcome.recheck_after)
        await self._remove_all(live, namespace)
        self._namespaces.forget(namespace)
        return Done()

    async def _remove_all(self, live: Object, namespace: str) -> None:
        """Remove the objects of this tenant, bindings first."""
        mine = plan.predecessors(live, self._tenants_of_target(live), self._installation)
        self._grants.forget(namespace)
        for resource, name in plan.EVERYTHING:
            await self._grants.remove(resource, ObjectKey(namespace, name), mine)
        self._grants.forget(namespace)
        self._revocation_delay.forget(namespace)

    async def _hand_over(self, live: Object, namespace: str) -> Outcome:
        """Wait until another tenant of the namespace owns all objects of this tenant."""
        for resource, name in plan.EVERYTHING:
            obj = await self._grants.get(resource, ObjectKey(namespace, name))
            if obj and annotations_of(obj).get(MARKS.owner_uid) == uid_of(live):
                message = f"another OpenBaoTenant has not taken over {resource.kind} {name} yet"
                return Wait("Deleting", message, HANDOVER_RECHECK)
        return Done()


def _waiting_message(this: _Reconcile) -> str:
    shown = [key_of(cluster).name for cluster in this.clusters[:NAMES_MAX]]
    more = len(this.clusters) - len(shown)
    rest = f" and {more} more" if more > 0 else ""
    return (
        f"Waiting for the deletion of these OpenBaoClusters in namespace {this.namespace}: "
        f"{', '.join(shown)}{rest}. The operator manages them until then"
    )


def owner_of(live: Object) -> Owner:
    """Return a tenant as owner of its objects."""
    key = key_of(live)
    return Owner(API_VERSION, TENANT_KIND, key.namespace, key.name, uid_of(live))
