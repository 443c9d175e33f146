"""Reads the state of the admission policies by name, every few minutes.

They are not watched: this would require a watch per policy, and the operator also refuses what they
forbid. Composed by `baoctl.process.wiring`; read by `managers.cluster.observe.observer`.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Iterator

import structlog

from contracts.admission.installed import PolicyObject, parts
from contracts.admission.policy import PREFIX
from contracts.records.environment import AdmissionFacts
from managers.context.installation import Installation
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import ApiError, Forbidden, NotFound, Transient
from runtime.metrics.families import Reading
from runtime.metrics.metrics import Metrics

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

FAMILY = "openbao_operator_admission_objects_lacking"
MEANING = (
    "Admission policies, bindings and parameters that are missing or differ from this release."
)
# Processes that started together must read at different times.
JITTER = 0.2
RETRY = 30.0
# Concurrent reads; few, because other reads are more urgent at the start of a process.
CONCURRENCY = 4


class AdmissionPolicies:
    """Reads the policies; `facts` is None until the first read."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        rng: random.Random,
        installation: Installation,
        metrics: Metrics,
    ) -> None:
        self._client = client
        self._clock = clock
        self._rng = rng
        self._max_age = installation.admission_recheck
        self._account = installation.account
        self._parts = parts(installation.account)
        # A gauge of the library is 0 before the first read, which means that nothing is missing.
        metrics.read_gauge(FAMILY, MEANING, (), self._readings)
        self._lacking: int | None = None
        self._checked = asyncio.Event()
        self.facts: AdmissionFacts | None = None

    async def run(self) -> None:
        """Read the policies periodically; never returns."""
        while True:
            wait = self._max_age if await self._check() else min(RETRY, self._max_age)
            self._checked.set()
            await self._clock.sleep(wait * (1 + self._rng.uniform(0, JITTER)))

    async def ready(self) -> None:
        """Return after the first attempt to read, so that the first status has the result."""
        await self._checked.wait()

    async def _check(self) -> bool:
        """Read all objects once; return False if the API server returns an error."""
        semaphore = asyncio.Semaphore(CONCURRENCY)
        try:
            states = await asyncio.gather(*(self._state(part, semaphore) for part in self._parts))
        except (ApiError, Transient) as error:
            log.warning("admission policies could not be read", error=str(error))
            return False
        by_state: defaultdict[str, set[str]] = defaultdict(set)
        for part, state in zip(self._parts, states, strict=True):
            by_state[state].add(part.key.name.removeprefix(PREFIX))
        names_by_state = {state: tuple(sorted(names)) for state, names in by_state.items() if state}
        facts = AdmissionFacts(**names_by_state)
        self._lacking = sum(bool(state) for state in states)
        if facts != self.facts:
            log.info("admission policies read", installed=not names_by_state, **names_by_state)
        self.facts = facts
        return True

    def _readings(self) -> Iterator[Reading]:
        if self._lacking is not None:
            yield (), float(self._lacking)

    async def _state(self, part: PolicyObject, semaphore: asyncio.Semaphore) -> str:
        """Return the field of AdmissionFacts that lists the object; "" if it is installed."""
        try:
            async with semaphore:
                live = await self._client.get(part.resource, part.key)
        except NotFound:
            return "missing"
        except Forbidden:
            return "unreadable"
        return "" if part.matches(live, self._account) else "different"
