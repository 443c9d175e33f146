"""Time budget of a reconcile for requests to servers, and the use of the breakers.

`BudgetedReconciler` gives each reconcile of a reconciler one budget for all of its requests to
servers. Every request of managers.bao.exchange and every handshake of managers.certs.probe runs in
a `request_timeout` block. Outside of such a reconcile, as in jobs, a request has only its own
timeout.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from managers.bao.answers import BaoError
from managers.bao.breakers import Breakers, Server, UnansweredError

if TYPE_CHECKING:
    from runtime.clock import Clock
    from runtime.controller.controller import Reconciler
    from runtime.outcome import Outcome
    from runtime.types import Request

BUDGET = 10.0
"""Seconds: twice the timeout of a request, so that one silent server leaves time for the others."""
API = "api"
TLS = "tls"

PodStates = Callable[[str], Mapping[str, Hashable]]
"""Namespace -> state of the pods there, by address."""


class DeadlineExceededError(BaoError):
    """No request was sent, because the reconcile has used up its time budget."""


class RequestBudget:
    """Time budget of one reconcile. It runs down while at least one request is open."""

    def __init__(self, clock: Clock, breakers: Breakers, namespace: str, states: PodStates) -> None:
        self._clock = clock
        self._breakers = breakers
        self._namespace = namespace
        self._states = states
        self._left = BUDGET
        self._open = 0
        self._since = 0.0

    @contextmanager
    def request_timeout(self, address: str, what: str, most: float, line: str) -> Iterator[float]:
        """Yield the seconds that the request in the block may take. Raises BaoError."""
        server = Server(self._namespace, address, line)

        def state() -> Hashable:
            return self._states(self._namespace).get(address)

        start = self._clock.monotonic()
        left = self._left - (start - self._since if self._open else 0.0)
        if left <= 0:
            raise DeadlineExceededError(
                f"{what} of {address} was not sent: this reconcile has waited {BUDGET:g} s for "
                "servers; the next reconcile retries"
            )
        self._breakers.check(server, what, state)
        self._begin(start)
        try:
            yield min(most, left)
        except UnansweredError:
            self._breakers.record_timeout(server, what, state, start)
            raise
        except Exception:
            # A refused connection counts as an answer, and so does an invalid answer.
            self._breakers.record_answer(server)
            raise
        else:
            self._breakers.record_answer(server)
        finally:
            self._end()

    def _begin(self, now: float) -> None:
        if not self._open:
            self._since = now
        self._open += 1

    def _end(self) -> None:
        self._open -= 1
        if not self._open:
            self._left -= self._clock.monotonic() - self._since


_CURRENT_BUDGET: Final[ContextVar[RequestBudget | None]] = ContextVar(
    "request_budget", default=None
)


@contextmanager
def request_timeout(address: str, what: str, most: float, line: str = API) -> Iterator[float]:
    """Yield the seconds that the request in the block may take, at most `most`.

    An UnansweredError that leaves the block counts as a timeout, everything else as an answer.
    Raises BaoError when no request may be sent now.
    """
    budget = _CURRENT_BUDGET.get()
    if budget is None:
        yield most
        return
    with budget.request_timeout(address, what, most, line) as seconds:
        yield seconds


class BudgetedReconciler:
    """Runs the reconciles of a reconciler, each with its own budget."""

    def __init__(
        self, inner: Reconciler, clock: Clock, breakers: Breakers, states: PodStates
    ) -> None:
        self._inner = inner
        self._clock = clock
        self._breakers = breakers
        self._states = states

    async def __call__(self, request: Request, /) -> Outcome:
        """Run a reconcile. Raises the errors of the reconciler."""
        budget = RequestBudget(self._clock, self._breakers, request.namespace, self._states)
        before = _CURRENT_BUDGET.set(budget)
        try:
            return await self._inner(request)
        finally:
            _CURRENT_BUDGET.reset(before)


def pod_states(pods: Iterable[Mapping[str, Any]]) -> Mapping[str, Hashable]:
    """Return the state of each pod as a comparable value, by address. Pure."""
    return {ip: _state(pod) for pod in pods if (ip := (pod.get("status") or {}).get("podIP"))}


def _state(pod: Mapping[str, Any]) -> Hashable:
    metadata, status = pod["metadata"], pod["status"]
    ready = [
        condition.get("status")
        for condition in status.get("conditions") or ()
        if condition.get("type") == "Ready"
    ]
    restarts = [item.get("restartCount", 0) for item in status.get("containerStatuses") or ()]
    labels = sorted((metadata.get("labels") or {}).items())
    return metadata.get("uid"), *ready, *restarts, *labels
