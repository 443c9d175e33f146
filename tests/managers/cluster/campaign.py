"""The whole life of a cluster in one process, with one failing call.

First boot, three servers, a change that replaces every pod. `Life.kubernetes` acts as Kubernetes
and as the servers; time passes only between rounds.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import labels
from managers.bao import login
from runtime.builtin_kinds import EVENT, POD, PVC, STATEFUL_SET
from runtime.errors import ApiError, Transient, TransportError
from runtime.types import Object, ObjectKey
from tests import gen
from tests.gen.api import Call, FakeApi, api_error
from tests.managers.cluster.bench import KEY, Bench
from tests.managers.membership.servers import WELL, Servers

# Failures of a server, or of the network, instead of a response.
CODES = (403, 404, 409, 410, 422, 429, 500, 503)
LOST = "no answer, and nothing done"
LOST_AFTER = "no answer, and done"
FAULTS: tuple[int | str, ...] = (*CODES, LOST, LOST_AFTER)
ROUND_SECONDS = 20.0


@dataclass(slots=True)
class CallFault:
    """One failing call: the n-th one named `call`, and the next ones, `times` in total."""

    call: str
    fault: int | str
    times: int = 1
    done: int = 0

    def strikes(self, call: str) -> bool:
        """Report whether this call must fail, and count it."""
        if call != self.call or self.done >= self.times:
            return False
        self.done += 1
        return True

    def error(self) -> Exception:
        """The error for the caller."""
        if isinstance(self.fault, int):
            return api_error(self.fault)
        return TransportError("timed out")


class FaultyApi(FakeApi):
    """An API server in a dict that fails one call."""

    def __init__(self, call_fault: CallFault | None = None) -> None:
        super().__init__()
        self.call_fault = call_fault
        self.call_counts: Counter[str] = Counter()
        self.creation_counts: Counter[str] = Counter()
        self._afterwards = False

    def _note(self, call: Call) -> None:
        self.call_counts[str(call)] += 1
        if self.call_fault is not None and self.call_fault.strikes(str(call)):
            if self.call_fault.fault != LOST_AFTER:
                raise self.call_fault.error()
            self._afterwards = True
        super()._note(call)

    async def answering(self, call: Call) -> None:
        if call.verb.startswith("create"):
            self.creation_counts[str(call)] += 1
        if self._afterwards and self.call_fault is not None:
            self._afterwards = False
            raise self.call_fault.error()


@dataclass(slots=True)
class Life:
    """A cluster from its first reconcile on, round by round."""

    api: FaultyApi
    bench: Bench = field(init=False)
    rounds: int = 0
    errors: int = 0
    ready_reasons: set[tuple[str, str]] = field(default_factory=set)
    """Status and reason of Ready after each round."""
    on_round: Callable[[Life], None] | None = None

    def __post_init__(self) -> None:
        self.bench = Bench(gen.cluster(replicas=3), self.api)

    async def until_settled(self, rounds: int) -> None:
        """Continue until two rounds in a row change nothing; raises AssertionError otherwise."""
        quiet = 0
        for _ in range(rounds):
            quiet = quiet + 1 if await self._round() else 0
            if quiet == 2:
                return
        raise AssertionError(f"not settled after {rounds} rounds: {self.ready()}")

    async def _round(self) -> bool:
        self.rounds += 1
        failed = False
        try:
            await self.bench.turn()
        except (ApiError, Transient):
            failed = True
            self.errors += 1
        idle = not failed and not self.bench.writes
        self.ready_reasons.add(self.ready())
        if self.on_round is not None:
            self.on_round(self)
        await self.bench.outside.clock.advance(ROUND_SECONDS)
        return self.kubernetes() and idle and self.ready()[0] == "True"

    def ready(self) -> tuple[str, str]:
        """Status and reason of the condition."""
        conditions = (self.bench.cluster.get("status") or {}).get("conditions") or ()
        return next(
            ((c["status"], c["reason"]) for c in conditions if c["type"] == "Ready"), ("", "")
        )

    def kubernetes(self) -> bool:
        """Act as Kubernetes and the servers; report whether there was nothing to do."""
        live = self.api.objects.get((STATEFUL_SET, KEY))
        if live is None:
            return True
        if live.get("status") != {"observedGeneration": 99}:
            self.api.with_objects((STATEFUL_SET, {**live, "status": {"observedGeneration": 99}}))
        annotations = live["spec"]["template"]["metadata"]["annotations"]
        pods = [self._pod(n, annotations) for n in range(live["spec"]["replicas"])]
        return not any(pods)

    def _pod(self, ordinal: int, annotations: Object) -> bool:
        key = ObjectKey(gen.NAMESPACE, f"x-{ordinal}")
        if (POD, key) in self.api.objects:
            return False
        others = [pod for pod in self.api.of(POD) if leads(pod)]
        pod = (
            gen.pod(ordinal)
            .with_template(annotations[labels.TEMPLATE_HASH])
            .with_files(annotations[labels.RELOAD_HASH])
            .ready(leading=not others)
        )
        body = copy.deepcopy(pod.object())
        body["metadata"]["uid"] = f"uid-{self.rounds}-{ordinal}"
        self.api.with_objects((POD, body))
        return True

    def hand_over(self) -> None:
        """Make another server the leader, as a step-down does."""
        pods = self.api.of(POD)
        former = next(pod for pod in pods if leads(pod))
        heir = next(pod for pod in reversed(pods) if not leads(pod))
        for pod, word in ((former, "false"), (heir, "true")):
            pod["metadata"]["labels"][labels.SERVER_ACTIVE] = word
            self.api.with_objects((POD, pod))

    def change(self) -> None:
        """Change one field that replaces every pod, and one that does not."""
        self.bench.ask_for(
            runtime={"restartAt": "now"}, service={"annotations": {"example.org/a": "b"}}
        )

    def writes(self) -> int:
        """Number of attempted writes."""
        reads = ("get ", "peek ")
        return sum(n for call, n in self.api.call_counts.items() if not call.startswith(reads))

    def object_names(self) -> set[tuple[str, str]]:
        """Kind and name of every object."""
        left_out = (EVENT, PVC)
        return {(kind.kind, key.name) for kind, key in self.api.objects if kind not in left_out}

    def templates(self) -> set[str]:
        """The templates of the pods."""
        hashes = (pod["metadata"]["annotations"][labels.TEMPLATE_HASH] for pod in self.api.of(POD))
        return set(hashes)

    def generation(self) -> int:
        """The observed generation."""
        return int(self.api.objects[(CLUSTERS, KEY)]["status"]["observedGeneration"])


def leads(pod: Object) -> bool:
    return bool(pod["metadata"]["labels"].get(labels.SERVER_ACTIVE) == "true")


class SteppingServers(Servers):
    """Servers of a life, which step down on request."""

    def __init__(self, life: Life) -> None:
        super().__init__()
        self._life = life
        leader = next((pod for pod in life.api.of(POD) if leads(pod)), None)
        if leader is not None:
            self.state = WELL.model_copy(update={"leader": leader["metadata"]["name"]})

    async def step_down(self, address: str, token: str) -> None:
        await super().step_down(address, token)
        self._life.hand_over()


def let_servers_answer(monkeypatch: pytest.MonkeyPatch, life: Life) -> None:
    """Connect every session to the servers of this life."""
    monkeypatch.setattr(login, "Bao", lambda authority, name, guard: SteppingServers(life))
