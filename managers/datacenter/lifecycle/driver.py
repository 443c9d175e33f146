"""Brings one row one step forward: looks, decides, acts, and records what became of it.

    row -> observe -> decide -> act -> record

Uses a store and providers (managers.datacenter.interfaces), a clock and chance; all that is decided
is in managers.datacenter.lifecycle.state_machine and managers.datacenter.backoff. Called by
managers.datacenter.lifecycle.service. Nothing is remembered between calls: what is there tells the
state.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeVar

from contracts.datacenter.dependencies import dependencies, held_by, waits_for
from contracts.datacenter.service_spec import OPENBAO_READY, BootstrapService
from contracts.datacenter.workload_records import (
    DatacenterInfo,
    Observation,
    ServiceProgress,
    ServiceRecord,
    Vault,
)
from managers.datacenter.backoff import after_failure, after_success, due, failed, goal_of
from managers.datacenter.interfaces import (
    Provider,
    ProviderError,
    StoreConflictError,
    WorkloadStore,
)
from managers.datacenter.lifecycle.state_machine import (
    DEPROVISION,
    PROVISION,
    REMOVE,
    RUNNING,
    UNKNOWN_PROVIDER,
    ServiceFacts,
    ServiceVerdict,
    decide_service,
    notes,
    progress_of,
    recheck_after,
)
from runtime.clock import Clock
from runtime.errors import LeaseLost
from runtime.outcome import Done, Outcome, Wait

T = TypeVar("T")
Tell = Callable[[DatacenterInfo | ServiceRecord, Literal["Normal", "Warning"], str, str], None]
"""Is told of each transition once: about whom, type, reason and a sentence. It may not raise."""

SUPERSEDED: Final = "Superseded"
AGAIN: Final = 1.0
"""Seconds to the next look after somebody else wrote a row, and when a name has become free."""


@dataclass(frozen=True, slots=True)
class _ObservedService:
    """What was seen of a row, and what its service is to be told."""

    facts: ServiceFacts
    vaults: tuple[Vault, ...] = ()


class Driver:
    """Carries out what the table of states says. Two of them over one store do no harm."""

    def __init__(
        self,
        store: WorkloadStore,
        providers: Mapping[str, Provider],
        clock: Clock,
        rng: random.Random,
        tell: Tell,
    ) -> None:
        """`providers` by what spec.provider calls them."""
        self._store = store
        self._providers = providers
        self._clock = clock
        self._rng = rng
        self._tell = tell

    async def drive(self, record: ServiceRecord, records: tuple[ServiceRecord, ...]) -> Outcome:
        """Bring a row one step forward; see
        managers.datacenter.lifecycle.service.DatacenterService.drive.
        """
        try:
            return await self._drive(record, records)
        except StoreConflictError as error:
            return Wait(SUPERSEDED, str(error), AGAIN)

    async def _drive(self, record: ServiceRecord, records: tuple[ServiceRecord, ...]) -> Outcome:
        if record.datacenter.state == "Offline":
            return await self._conclude(
                record, ServiceFacts(record, None, "Offline", self._clock.now())
            )
        provider = self._providers.get(record.datacenter.provider)
        if provider is None:
            return await self._without_provider(record)
        try:
            observed = await self._observe(provider, record, records)
        except ProviderError as error:
            return await self._blind(record, error)
        verdict = decide_service(observed.facts)
        if not verdict.action:
            return await self._conclude(record, observed.facts)
        if verdict.action == PROVISION and record.moved:
            return Wait(SUPERSEDED, f"{record.name} is to get its provider first", AGAIN)
        begun = progress_of(observed.facts, verdict)
        if verdict.action != PROVISION:
            # Said before it is done: who decided by an old row is refused here, before any harm.
            # What is made by an old row is put right by the next pass.
            record = await self._record(record, begun)
        try:
            facts = await self._perform(provider, record, observed, verdict)
        except ProviderError as error:
            return await self._failed(record, begun, error)
        return await self._conclude(record, facts, begun)

    async def _observe(
        self, provider: Provider, record: ServiceRecord, records: tuple[ServiceRecord, ...]
    ) -> _ObservedService:
        """Observe a row; and what it depends on, when something has to be made."""
        observation = await _call_provider(provider.observe(record))
        facts = ServiceFacts(
            record,
            observation,
            record.datacenter.state,
            self._clock.now(),
            held_by=held_by(record, records),
        )
        if record.retiring or facts.up_to_date or not record.wish.service.depends_on:
            return _ObservedService(facts)
        neighbours = await self._neighbours(record, records)
        running = {name for name, (other, one) in neighbours.items() if _is_running(other, one)}
        waits = waits_for(record, records, running.__contains__)
        vaults = tuple(
            one.vault for _, (_, one) in sorted(neighbours.items()) if one.vault is not None
        )
        tells = OPENBAO_READY in record.wish.service.depends_on
        return _ObservedService(replace(facts, waits_for=waits), vaults if tells else ())

    async def _neighbours(
        self, record: ServiceRecord, records: tuple[ServiceRecord, ...]
    ) -> dict[str, tuple[ServiceRecord, Observation]]:
        """What a row depends on, by name, as it is now and not as it was recorded."""
        names = dependencies([record.wish.service, *_others(record, records)])[record.name]
        neighbours = {}
        for other in records:
            provider = self._providers.get(other.datacenter.provider)
            if other.name not in names or provider is None:
                continue
            try:
                neighbours[other.name] = other, await _call_provider(provider.observe(other))
            except ProviderError:
                # Told when that row itself is driven; until then nobody knows that it runs.
                continue
        return neighbours

    async def _perform(
        self,
        provider: Provider,
        record: ServiceRecord,
        observed: _ObservedService,
        verdict: ServiceVerdict,
    ) -> ServiceFacts:
        """Carry a verdict out; the facts after it, in which former failures are forgiven."""
        forgiven = replace(record, progress=after_success(record.progress, goal_of(record)))
        if verdict.action == PROVISION:
            await _call_provider(provider.provision(record, observed.vaults))
            observation = await _call_provider(provider.observe(record))
            return replace(observed.facts, record=forgiven, observation=observation, waits_for=())
        gone = verdict.action == DEPROVISION and await _call_provider(provider.deprovision(record))
        return replace(observed.facts, record=forgiven, gone=gone)

    async def _conclude(
        self, record: ServiceRecord, facts: ServiceFacts, begun: ServiceProgress | None = None
    ) -> Outcome:
        """Record where a row is, or let it go; `facts` may know more than what is recorded.

        `begun` is where it was while something was done, for what is told of it.
        """
        verdict = decide_service(facts)
        if verdict.action == REMOVE:
            return await self._remove(record)
        recorded = await self._record(record, progress_of(facts, verdict), begun)
        recheck = recheck_after(verdict.state, recorded.progress, facts.gate, facts.now)
        if verdict.state == RUNNING:
            return Done(recheck)
        return Wait(verdict.state, verdict.message, recheck)

    async def _remove(self, record: ServiceRecord) -> Outcome:
        if await self._store.remove(record):
            self._tell(record, "Normal", "Retired", f"service {record.name} is gone")
        return Done()

    async def _failed(
        self, record: ServiceRecord, begun: ServiceProgress, error: ProviderError
    ) -> Outcome:
        """Record that what was attempted did not work; `row` is what is recorded."""
        now, goal = self._clock.now(), goal_of(record)
        after = after_failure(begun, goal, error, now, self._rng.random())
        recorded = await self._record(record, after, begun)
        return self._later(recorded)

    async def _blind(self, record: ServiceRecord, error: ProviderError) -> Outcome:
        """Nobody can look: the same as a failed attempt, but that looking again may always help."""
        if due(record.progress, goal_of(record), self._clock.now()):
            return await self._failed(
                record, record.progress, ProviderError(error.reason, error.message)
            )
        return self._later(record)

    async def _without_provider(self, record: ServiceRecord) -> Outcome:
        name = record.datacenter.provider
        providers = ", ".join(sorted(self._providers)) or "none"
        if record.retiring and not record.progress.provider_ref:
            # Nobody ever made anything of it.
            return await self._remove(record)
        failure = failed(record.progress, goal_of(record))
        if failure is not None and failure.reason == UNKNOWN_PROVIDER:
            return self._later(record)
        text = (
            f"spec.provider is {name}, and nobody here runs services for it (known: {providers}); "
            "start the operator with that provider, or correct the Datacenter"
        )
        return await self._failed(
            record, record.progress, ProviderError(UNKNOWN_PROVIDER, text, terminal=True)
        )

    def _later(self, record: ServiceRecord) -> Outcome:
        progress, now = record.progress, self._clock.now()
        recheck = recheck_after(progress.state, progress, record.datacenter.state, now)
        return Wait(progress.state, progress.message, recheck)

    async def _record(
        self, record: ServiceRecord, progress: ServiceProgress, begun: ServiceProgress | None = None
    ) -> ServiceRecord:
        """Keep what became of a row, and tell what that means once it is kept.

        `begun`: where it was in between, which is told and not kept.
        """
        between = record.progress if begun is None else begun
        events = (*notes(record, between), *notes(replace(record, progress=between), progress))
        recorded = await self._store.record(record, progress)
        for event in events:
            self._tell(recorded, event.kind, event.reason, event.text)
        return recorded


def _is_running(record: ServiceRecord, observation: Observation) -> bool:
    return not record.retiring and observation.well and observation.digest == record.wish.digest


def _others(record: ServiceRecord, records: Iterable[ServiceRecord]) -> list[BootstrapService]:
    return [other.wish.service for other in records if other.name != record.name]


async def _call_provider(call: Awaitable[T]) -> T:
    """Await an answer of a provider; whatever it raises and should not becomes a ProviderError."""
    try:
        return await call
    except (ProviderError, LeaseLost):
        raise
    except Exception as error:
        raise ProviderError(type(error).__name__, str(error) or "no reason given") from error
