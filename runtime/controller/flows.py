"""The ready keys of a workqueue by flow: the order of the flows, and the workers that each may
hold.

Pure; created and called by runtime.controller.workqueue. A flow is the unit of fairness: the keys
of one namespace, and those of all cluster-scoped objects. The idea is that of API priority and
fairness, without shuffle sharding, because there are few flows.

- Within the highest priority, the flow that holds the fewest workers is next, among equals the one
  that has waited longest, and within a flow the key that became ready first.
- A flow holds at most one worker in SHARE, and gets one only while more are free than it holds. The
  first rule limits one slow namespace; the second reserves workers for others when several are
  slow: of 16 workers one flow holds 4, and six flows are needed to hold all. A limit that applies
  only while others wait would be too late, because a running reconcile keeps its worker.
- Every AGEING-th key is the oldest of all eligible ones, whatever its priority and flow.
"""

import bisect
import heapq
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from runtime.metrics.flow_metrics import FlowReadings
from runtime.types import Request

AGEING = 8
SHARE = 4
"""A flow holds at most a fourth of the workers."""
STALE_AGES = 64
"""How many stale entries the heap of ages may hold in addition to twice the number of flows."""


@dataclass(slots=True)
class ReadyKey:
    """A ready key; `order` is unique, `since` the monotonic time at which it became ready."""

    priority: int
    order: int
    since: float


@dataclass(slots=True)
class _Flow:
    """The keys of one flow. The head of each heap is a live entry; others may be stale."""

    name: str
    seats: int = 0
    """Workers that it holds."""
    waiting: int = 0
    lines: dict[int, list[tuple[int, Request]]] = field(default_factory=dict)
    oldest: int = -1

    def head(self) -> int:
        """The priority whose first key is the oldest one."""
        if len(self.lines) == 1:
            return next(iter(self.lines))
        return min(self.lines, key=lambda priority: self.lines[priority][0])


class _Turns:
    """The flows with keys of one priority, by the number of workers that each holds, in queue
    order."""

    def __init__(self) -> None:
        self._by_seats: list[OrderedDict[str, _Flow]] = []

    def enter(self, flow: _Flow) -> None:
        """Append a flow after all others that hold as many workers."""
        while len(self._by_seats) <= flow.seats:
            self._by_seats.append(OrderedDict())
        self._by_seats[flow.seats][flow.name] = flow

    def leave(self, flow: _Flow) -> None:
        del self._by_seats[flow.seats][flow.name]

    def __bool__(self) -> bool:
        return any(self._by_seats)

    def first(self, limit: int) -> _Flow | None:
        """The next flow that holds fewer than `limit` workers."""
        for seats, flows in enumerate(self._by_seats):
            if seats >= limit:
                break
            if flows:
                return next(iter(flows.values()))
        return None


class Flows:
    """The ready keys that no worker holds. `workers`: their number; None: no flow is limited.

    `ready` is the record of the queue; an entry with another order than in `ready` is stale.
    """

    def __init__(self, ready: Mapping[Request, ReadyKey], workers: int | None = None) -> None:
        self._ready = ready
        self._workers = workers
        self._seats = 0
        self._take_count = 0
        self._flows: dict[str, _Flow] = {}
        self._turns: dict[int, _Turns] = {}
        # In ascending order.
        self._priorities: list[int] = []
        # Order of the oldest key of each flow; an entry that is not the `oldest` of its flow is
        # stale.
        self._ages: list[tuple[int, str]] = []

    def push(self, request: Request, entry: ReadyKey) -> None:
        """Add a key."""
        flow = self._flows.get(request.namespace)
        if flow is None:
            flow = self._flows[request.namespace] = _Flow(request.namespace)
        flow.waiting += 1
        self._insert(flow, request, entry)
        self._note_age(flow)

    def move(self, request: Request, entry: ReadyKey, before: int) -> None:
        """Move a key whose priority was raised from `before`."""
        flow = self._flows[request.namespace]
        self._insert(flow, request, entry)
        self._prune(flow, before)
        self._note_age(flow)

    def has_next(self) -> bool:
        """Whether a free worker may take a key."""
        limit = self._limit()
        return any(turns.first(limit) is not None for turns in self._turns.values())

    def take(self) -> Request:
        """Remove and return the next key; its flow holds one more worker. LookupError without
        one."""
        self._take_count += 1
        flow, priority = self._oldest() if self._take_count % AGEING == 0 else self._next()
        _, request = heapq.heappop(flow.lines[priority])
        flow.waiting -= 1
        self._prune(flow, priority)
        self._hold(flow, 1)
        self._note_age(flow)
        return request

    def release_worker(self, request: Request) -> None:
        """Release the worker of the flow of a key."""
        flow = self._flows[request.namespace]
        self._hold(flow, -1)
        if not flow.lines and not flow.seats:
            del self._flows[flow.name]

    def clear(self) -> None:
        """Drop all keys; workers still release theirs."""
        for flow in self._flows.values():
            flow.lines.clear()
            flow.waiting, flow.oldest = 0, -1
        self._turns.clear()
        self._priorities.clear()
        self._ages.clear()

    def readings(self) -> FlowReadings:
        """Return the state of the flows."""
        limit, flows = self._limit(), self._flows.values()
        return FlowReadings(
            flows=len(flows),
            at_limit=sum(flow.waiting > 0 and flow.seats >= limit > 0 for flow in flows),
            most_waiting=max((flow.waiting for flow in flows), default=0),
            seats_max=max((flow.seats for flow in flows), default=0),
        )

    def _limit(self) -> int:
        """The number of workers with which a flow gets no further one."""
        if self._workers is None:
            return self._seats + 1
        return max(0, min(-(-self._workers // SHARE), self._workers - self._seats))

    def _next(self) -> tuple[_Flow, int]:
        limit = self._limit()
        for priority in reversed(self._priorities):
            flow = self._turns[priority].first(limit)
            if flow is not None:
                return flow, priority
        raise LookupError("no key that may be taken")

    def _oldest(self) -> tuple[_Flow, int]:
        """The flow with the oldest eligible key.

        Each skipped flow holds a worker, so there are at most as many as workers.
        """
        limit = self._limit()
        ages: list[tuple[int, str]] = []
        try:
            while self._ages:
                age = heapq.heappop(self._ages)
                flow = self._flows.get(age[1])
                if flow is None or flow.oldest != age[0]:
                    continue
                ages.append(age)
                if flow.seats < limit:
                    return flow, flow.head()
        finally:
            for age in ages:
                heapq.heappush(self._ages, age)
        raise LookupError("no key that may be taken")

    def _insert(self, flow: _Flow, request: Request, entry: ReadyKey) -> None:
        line = flow.lines.get(entry.priority)
        if line is None:
            line = flow.lines[entry.priority] = []
            self._turns_of(entry.priority).enter(flow)
        heapq.heappush(line, (entry.order, request))

    def _turns_of(self, priority: int) -> _Turns:
        turns = self._turns.get(priority)
        if turns is None:
            turns = self._turns[priority] = _Turns()
            bisect.insort(self._priorities, priority)
        return turns

    def _prune(self, flow: _Flow, priority: int) -> None:
        """Drop stale entries from the head of a heap, and the heap if it is empty."""
        line = flow.lines[priority]
        while line and not self._is_live(*line[0]):
            heapq.heappop(line)
        if not line:
            del flow.lines[priority]
            turns = self._turns[priority]
            turns.leave(flow)
            if not turns:
                del self._turns[priority]
                self._priorities.remove(priority)

    def _is_live(self, order: int, request: Request) -> bool:
        entry = self._ready.get(request)
        return entry is not None and entry.order == order

    def _hold(self, flow: _Flow, more: int) -> None:
        """Change the number of workers of a flow; it goes behind those that hold as many."""
        lines = [self._turns[priority] for priority in flow.lines]
        for turns in lines:
            turns.leave(flow)
        flow.seats += more
        self._seats += more
        for turns in lines:
            turns.enter(flow)

    def _note_age(self, flow: _Flow) -> None:
        oldest = flow.lines[flow.head()][0][0] if flow.lines else -1
        if oldest in (flow.oldest, -1):
            flow.oldest = oldest
            return
        flow.oldest = oldest
        heapq.heappush(self._ages, (oldest, flow.name))
        if len(self._ages) > 2 * len(self._flows) + STALE_AGES:
            self._ages = [
                (active.oldest, active.name) for active in self._flows.values() if active.lines
            ]
            heapq.heapify(self._ages)
