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
    decide_row,
    next_look,
    notes,
    progress_of,
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
class _Sight:
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

    async def drive(self, row: ServiceRecord, rows: tuple[ServiceRecord, ...]) -> Outcome:
        """Bring a row one step forward; see
        managers.datacenter.lifecycle.service.DatacenterService.drive.
        """
        try:
            return await self._drive(row, rows)
        except StoreConflictError as error:
            return Wait(SUPERSEDED, str(error), AGAIN)

    async def _drive(self, row: ServiceRecord, rows: tuple[ServiceRecord, ...]) -> Outcome:
        if row.datacenter.state == "Offline":
            return await self._conclude(row, ServiceFacts(row, None, "Offline", self._clock.now()))
        provider = self._providers.get(row.datacenter.provider)
        if provider is None:
            return await self._without_provider(row)
        try:
            sight = await self._look(provider, row, rows)
        except ProviderError as error:
            return await self._blind(row, error)
        verdict = decide_row(sight.facts)
        if not verdict.act:
            return await self._conclude(row, sight.facts)
        if verdict.act == PROVISION and row.moved:
            return Wait(SUPERSEDED, f"{row.name} is to get its provider first", AGAIN)
        begun = progress_of(sight.facts, verdict)
        if verdict.act != PROVISION:
            # Said before it is done: who decided by an old row is refused here, before any harm.
            # What is made by an old row is put right by the next pass.
            row = await self._record(row, begun)
        try:
            facts = await self._act(provider, row, sight, verdict)
        except ProviderError as error:
            return await self._failed(row, begun, error)
        return await self._conclude(row, facts, begun)

    async def _look(
        self, provider: Provider, row: ServiceRecord, rows: tuple[ServiceRecord, ...]
    ) -> _Sight:
        """Observe a row; and what it depends on, when something has to be made."""
        seen = await _asked(provider.observe(row))
        facts = ServiceFacts(
            row, seen, row.datacenter.state, self._clock.now(), held_by=held_by(row, rows)
        )
        if row.retiring or facts.as_wanted or not row.wish.service.depends_on:
            return _Sight(facts)
        known = await self._neighbours(row, rows)
        running = {name for name, (other, one) in known.items() if _is_running(other, one)}
        waits = waits_for(row, rows, running.__contains__)
        vaults = tuple(one.vault for _, (_, one) in sorted(known.items()) if one.vault is not None)
        tells = OPENBAO_READY in row.wish.service.depends_on
        return _Sight(replace(facts, waits_for=waits), vaults if tells else ())

    async def _neighbours(
        self, row: ServiceRecord, rows: tuple[ServiceRecord, ...]
    ) -> dict[str, tuple[ServiceRecord, Observation]]:
        """What a row depends on, by name, as it is now and not as it was recorded."""
        wanted = dependencies([row.wish.service, *_others(row, rows)])[row.name]
        found = {}
        for other in rows:
            provider = self._providers.get(other.datacenter.provider)
            if other.name not in wanted or provider is None:
                continue
            try:
                found[other.name] = other, await _asked(provider.observe(other))
            except ProviderError:
                # Told when that row itself is driven; until then nobody knows that it runs.
                continue
        return found

    async def _act(
        self, provider: Provider, row: ServiceRecord, sight: _Sight, verdict: ServiceVerdict
    ) -> ServiceFacts:
        """Carry a verdict out; the facts after it, in which former failures are forgiven."""
        forgiven = replace(row, progress=after_success(row.progress, goal_of(row)))
        if verdict.act == PROVISION:
            await _asked(provider.provision(row, sight.vaults))
            seen = await _asked(provider.observe(row))
            return replace(sight.facts, row=forgiven, observation=seen, waits_for=())
        gone = verdict.act == DEPROVISION and await _asked(provider.deprovision(row))
        return replace(sight.facts, row=forgiven, gone=gone)

    async def _conclude(
        self, row: ServiceRecord, facts: ServiceFacts, begun: ServiceProgress | None = None
    ) -> Outcome:
        """Record where a row is, or let it go; `facts` may know more than what is recorded.

        `begun` is where it was while something was done, for what is told of it.
        """
        verdict = decide_row(facts)
        if verdict.act == REMOVE:
            return await self._remove(row)
        kept = await self._record(row, progress_of(facts, verdict), begun)
        look = next_look(verdict.state, kept.progress, facts.gate, facts.now)
        if verdict.state == RUNNING:
            return Done(look)
        return Wait(verdict.state, verdict.message, look)

    async def _remove(self, row: ServiceRecord) -> Outcome:
        if await self._store.remove(row):
            self._tell(row, "Normal", "Retired", f"service {row.name} is gone")
        return Done()

    async def _failed(
        self, row: ServiceRecord, begun: ServiceProgress, error: ProviderError
    ) -> Outcome:
        """Record that what was attempted did not work; `row` is what is recorded."""
        now, goal = self._clock.now(), goal_of(row)
        after = after_failure(begun, goal, error, now, self._rng.random())
        kept = await self._record(row, after, begun)
        return self._later(kept)

    async def _blind(self, row: ServiceRecord, error: ProviderError) -> Outcome:
        """Nobody can look: the same as a failed attempt, but that looking again may always help."""
        if due(row.progress, goal_of(row), self._clock.now()):
            return await self._failed(row, row.progress, ProviderError(error.reason, error.message))
        return self._later(row)

    async def _without_provider(self, row: ServiceRecord) -> Outcome:
        name = row.datacenter.provider
        known = ", ".join(sorted(self._providers)) or "none"
        if row.retiring and not row.progress.provider_ref:
            # Nobody ever made anything of it.
            return await self._remove(row)
        failure = failed(row.progress, goal_of(row))
        if failure is not None and failure.reason == UNKNOWN_PROVIDER:
            return self._later(row)
        text = (
            f"spec.provider is {name}, and nobody here runs services for it (known: {known}); "
            "start the operator with that provider, or correct the Datacenter"
        )
        return await self._failed(
            row, row.progress, ProviderError(UNKNOWN_PROVIDER, text, terminal=True)
        )

    def _later(self, row: ServiceRecord) -> Outcome:
        progress, now = row.progress, self._clock.now()
        look = next_look(progress.state, progress, row.datacenter.state, now)
        return Wait(progress.state, progress.message, look)

    async def _record(
        self, row: ServiceRecord, progress: ServiceProgress, begun: ServiceProgress | None = None
    ) -> ServiceRecord:
        """Keep what became of a row, and tell what that means once it is kept.

        `begun`: where it was in between, which is told and not kept.
        """
        between = row.progress if begun is None else begun
        told_of = (*notes(row, between), *notes(replace(row, progress=between), progress))
        kept = await self._store.record(row, progress)
        for note in told_of:
            self._tell(kept, note.kind, note.reason, note.text)
        return kept


def _is_running(row: ServiceRecord, seen: Observation) -> bool:
    return not row.retiring and seen.well and seen.digest == row.wish.digest


def _others(row: ServiceRecord, rows: Iterable[ServiceRecord]) -> list[BootstrapService]:
    return [other.wish.service for other in rows if other.name != row.name]


async def _asked(call: Awaitable[T]) -> T:
    """Await an answer of a provider; whatever it raises and should not becomes a ProviderError."""
    try:
        return await call
    except (ProviderError, LeaseLost):
        raise
    except Exception as error:
        raise ProviderError(type(error).__name__, str(error) or "no reason given") from error
