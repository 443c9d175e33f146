"""Reconciles one service record: observe, decide, act, and store the progress.

    record -> observe -> decide -> act -> store

Uses a store and providers (managers.datacenter.interfaces), a clock and randomness; it decides with
managers.datacenter.lifecycle.state_machine and managers.datacenter.backoff. Called by
managers.datacenter.lifecycle.service. It keeps no state between calls.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeVar

from contracts.conditions.message import clean_message
from contracts.datacenter.dependencies import dependencies, dependents, unmet_dependencies
from contracts.datacenter.names import OPENBAO_READY
from contracts.datacenter.service_spec import BootstrapService
from contracts.datacenter.workload_records import (
    DatacenterInfo,
    Observation,
    ServiceProgress,
    ServiceRecord,
    Vault,
)
from managers.datacenter.backoff import after_failure, after_success, due, failure_of, goal_of
from managers.datacenter.interfaces import (
    Provider,
    ProviderError,
    StoreConflictError,
    WorkloadStore,
)
from managers.datacenter.lifecycle.audit import audit_change, audit_progress
from managers.datacenter.lifecycle.permission import refusal
from managers.datacenter.lifecycle.state_machine import (
    DEPROVISION,
    PROVISION,
    REMOVE,
    RUNNING,
    UNKNOWN_PROVIDER,
    ServiceFacts,
    ServiceVerdict,
    decide_service,
    events_for,
    progress_of,
    requeue_after,
)
from runtime.clock import Clock
from runtime.errors import LeaseLost
from runtime.outcome import Done, Outcome, Wait

T = TypeVar("T")
EventCallback = Callable[
    [DatacenterInfo | ServiceRecord, Literal["Normal", "Warning"], str, str], None
]
"""Called once per event with its object, type, reason and message. It must not raise."""

SUPERSEDED: Final = "Superseded"
REQUEUE_SOON: Final = 1.0
"""Seconds to the next reconcile after a conflict, or after a name became available."""


@dataclass(frozen=True, slots=True)
class _ObservedService:
    """The observed facts of a record, and the vaults to pass to its service."""

    facts: ServiceFacts
    vaults: tuple[Vault, ...] = ()


class Driver:
    """Executes the state machine. Several drivers may share a store."""

    def __init__(
        self,
        store: WorkloadStore,
        providers: Mapping[str, Provider],
        clock: Clock,
        rng: random.Random,
        emit: EventCallback,
    ) -> None:
        """`providers` has each provider by its value of spec.provider."""
        self._store = store
        self._providers = providers
        self._clock = clock
        self._rng = rng
        self._emit = emit

    async def drive(self, record: ServiceRecord, records: tuple[ServiceRecord, ...]) -> Outcome:
        """Reconcile a record, as documented at DatacenterService.drive."""
        try:
            return await self._drive(record, records)
        except StoreConflictError as error:
            return Wait(SUPERSEDED, str(error), REQUEUE_SOON)

    async def _drive(self, record: ServiceRecord, records: tuple[ServiceRecord, ...]) -> Outcome:
        if record.datacenter.state == "Offline":
            return await self._conclude(
                record, ServiceFacts(record, None, "Offline", self._clock.now())
            )
        provider = self._providers.get(record.datacenter.provider)
        if provider is None:
            return await self._without_provider(record)
        permission_error = refusal(record)
        if permission_error is not None:
            return await self._refuse(record, permission_error)
        try:
            observed = await self._observe(provider, record, records)
        except ProviderError as error:
            return await self._observation_failed(record, error)
        verdict = decide_service(observed.facts)
        if not verdict.action:
            return await self._conclude(record, observed.facts)
        if verdict.action == PROVISION and record.provider_changed:
            return Wait(
                SUPERSEDED, f"the provider of {record.name} has to be updated first", REQUEUE_SOON
            )
        # Stored before the action: users see the state even if the call hangs or the process
        # crashes, and a decision based on an outdated record ends here with a conflict.
        record = await self._record(record, progress_of(observed.facts, verdict))
        try:
            facts = await self._perform(provider, record, observed, verdict)
        except ProviderError as error:
            return await self._record_failure(record, error)
        return await self._conclude(record, facts)

    async def _observe(
        self, provider: Provider, record: ServiceRecord, records: tuple[ServiceRecord, ...]
    ) -> _ObservedService:
        """Observe a record and, unless it is up to date, its dependencies."""
        observation = await _call_provider(provider.observe(record))
        facts = ServiceFacts(
            record,
            observation,
            record.datacenter.state,
            self._clock.now(),
            dependents=dependents(record, records),
        )
        if record.retiring or facts.up_to_date or not record.desired.service.depends_on:
            return _ObservedService(facts)
        observed_dependencies = await self._observe_dependencies(record, records)
        running = {
            name
            for name, (other, dependency_state) in observed_dependencies.items()
            if _is_running(other, dependency_state)
        }
        unmet = unmet_dependencies(record, records, running.__contains__)
        vaults = tuple(
            dependency_state.vault
            for _, (_, dependency_state) in sorted(observed_dependencies.items())
            if dependency_state.vault is not None
        )
        uses_vaults = OPENBAO_READY in record.desired.service.depends_on
        return _ObservedService(
            replace(facts, unmet_dependencies=unmet), vaults if uses_vaults else ()
        )

    async def _observe_dependencies(
        self, record: ServiceRecord, records: tuple[ServiceRecord, ...]
    ) -> dict[str, tuple[ServiceRecord, Observation]]:
        """Return the dependencies of a record, by name, with their current observation."""
        names = dependencies([record.desired.service, *_others(record, records)])[record.name]
        observed_dependencies = {}
        for other in records:
            provider = self._providers.get(other.datacenter.provider)
            if other.name not in names or provider is None:
                continue
            try:
                observed_dependencies[other.name] = (
                    other,
                    await _call_provider(provider.observe(other)),
                )
            except ProviderError:
                # The reconcile of that record reports the error; here it counts as not running.
                continue
        return observed_dependencies

    async def _perform(
        self,
        provider: Provider,
        record: ServiceRecord,
        observed: _ObservedService,
        verdict: ServiceVerdict,
    ) -> ServiceFacts:
        """Execute the action of a verdict; return the new facts, with earlier failures cleared."""
        cleared = replace(record, progress=after_success(record.progress, goal_of(record)))
        if verdict.action == PROVISION:
            await _call_provider(provider.provision(record, observed.vaults))
            observation = await _call_provider(provider.observe(record))
            return replace(
                observed.facts, record=cleared, observation=observation, unmet_dependencies=()
            )
        gone = verdict.action == DEPROVISION and await _call_provider(provider.deprovision(record))
        return replace(observed.facts, record=cleared, gone=gone)

    async def _conclude(self, record: ServiceRecord, facts: ServiceFacts) -> Outcome:
        """Store the state of a record, or remove the record."""
        verdict = decide_service(facts)
        if verdict.action == REMOVE:
            return await self._remove(record)
        current = await self._record(record, progress_of(facts, verdict))
        recheck = requeue_after(verdict.state, current.progress, facts.datacenter_state, facts.now)
        if verdict.state == RUNNING:
            return Done(recheck)
        return Wait(verdict.state, verdict.message, recheck)

    async def _remove(self, record: ServiceRecord) -> Outcome:
        if await self._store.remove(record):
            audit_change(record.datacenter.name, record.desired, "removed")
            self._emit(record, "Normal", "Retired", f"service {record.name} was removed")
        return Done()

    async def _record_failure(self, record: ServiceRecord, error: ProviderError) -> Outcome:
        """Store a failed attempt; `record` is the stored one."""
        now, goal = self._clock.now(), goal_of(record)
        after = after_failure(record.progress, goal, error, now, self._rng.random())
        return self._retry_later(await self._record(record, after))

    async def _observation_failed(self, record: ServiceRecord, error: ProviderError) -> Outcome:
        """Handle a failed observation like a failed attempt that is always retried."""
        if due(record.progress, goal_of(record), self._clock.now()):
            return await self._record_failure(record, ProviderError(error.reason, error.message))
        return self._retry_later(record)

    async def _refuse(self, record: ServiceRecord, error: ProviderError) -> Outcome:
        """Store a refusal once: the same refusal is not another attempt."""
        last = failure_of(record.progress, goal_of(record))
        refusal_text = error.reason, clean_message(error.message)
        if last is not None and (last.reason, last.message) == refusal_text:
            return self._retry_later(record)
        return await self._record_failure(record, error)

    async def _without_provider(self, record: ServiceRecord) -> Outcome:
        name = record.datacenter.provider
        providers = ", ".join(sorted(self._providers)) or "none"
        if record.retiring and not record.progress.provider_ref:
            # No object was ever created for it.
            return await self._remove(record)
        failure = failure_of(record.progress, goal_of(record))
        if failure is not None and failure.reason == UNKNOWN_PROVIDER:
            return self._retry_later(record)
        text = (
            f"spec.provider {name} is unknown (known: {providers}); "
            "start the operator with that provider, or correct the Datacenter"
        )
        return await self._record_failure(
            record, ProviderError(UNKNOWN_PROVIDER, text, terminal=True)
        )

    def _retry_later(self, record: ServiceRecord) -> Outcome:
        progress, now = record.progress, self._clock.now()
        recheck = requeue_after(progress.state, progress, record.datacenter.state, now)
        return Wait(progress.state, progress.message, recheck)

    async def _record(self, record: ServiceRecord, progress: ServiceProgress) -> ServiceRecord:
        """Store the progress of a record, then send its events and write its audit record."""
        current = await self._store.record(record, progress)
        audit_progress(record.progress, current)
        for event in events_for(record, progress):
            self._emit(current, event.kind, event.reason, event.text)
        return current


def _is_running(record: ServiceRecord, observation: Observation) -> bool:
    return (
        not record.retiring and observation.healthy and observation.digest == record.desired.digest
    )


def _others(record: ServiceRecord, records: Iterable[ServiceRecord]) -> list[BootstrapService]:
    return [other.desired.service for other in records if other.name != record.name]


async def _call_provider(call: Awaitable[T]) -> T:
    """Await a call of a provider; an unexpected exception becomes a ProviderError."""
    try:
        return await call
    except (ProviderError, LeaseLost):
        raise
    except Exception as error:
        raise ProviderError(type(error).__name__, str(error) or "no message") from error
