"""Random schedules of writes and faults of a server, its objects and its connections.

Everything is drawn from one generator, so that a seed identifies a schedule. `history` lists the
actions, for the message of a failure.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from runtime.builtin_kinds import CONFIG_MAP
from runtime.testing.api_server.answers import internal, too_many
from runtime.testing.api_server.faults import RandomFaults
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire
from runtime.testing.simulation import LoopClock
from runtime.types import Object, ObjectKey

NAMESPACES = ("shop", "yard")
NAMES = ("a", "b", "c", "d")
LABELS: Sequence[dict[str, str]] = ({}, {"app": "web"}, {"app": "web", "tier": "x"}, {"app": "db"})

PAUSES = ((0.0, 0.0), (0.0, 0.05), (0.1, 2.0), (0.1, 2.0), (5.0, 40.0), (60.0, 700.0))
"""Ranges of seconds between two actions, each as likely as the next."""

Action = Callable[[], None]


@dataclass(slots=True)
class Chaos:
    """Random actions, and their history. `act` executes one, `run` many with pauses."""

    server: FakeApiServer
    wire: FakeWire
    faults: RandomFaults
    rng: random.Random
    clock: LoopClock
    history: list[str] = field(default_factory=list)
    _number: int = 0

    async def run(self, actions: int) -> None:
        """Execute that many actions."""
        for _ in range(actions):
            self.act()
            low, high = self.rng.choice(PAUSES)
            # A long outage would only cause many equal retries.
            bad = self.faults.rate > 0.5 or not self.server.up
            await self.clock.sleep(min(self.rng.uniform(low, high), 10.0 if bad else high))
            self.server.up = self.server.up or self.rng.random() < 0.3

    def act(self) -> None:
        """One random action: a write is twice as likely as a fault."""
        if self.rng.random() < 0.65:
            self.mutate()
        else:
            self.disturb()

    def mutate(self, key: ObjectKey | None = None) -> None:
        """Write as another client."""
        choice = self.rng.choice((self._put, self._put, self._put, self._drop, self._recreate))
        choice(key or self.key())

    def disturb(self) -> None:
        """Inject a fault."""
        choice = self.rng.choice(
            (
                self._break_a_watch,
                self._break_a_watch,
                self._break_a_watch,
                self._change_error_rate,
                self._compact,
                self._restart,
                self._toggle,
                self._write_elsewhere,
                self.slow_down,
            )
        )
        choice()

    def slow_down(self) -> None:
        """Change the speed of lists and watches."""
        self.server.list_end_seconds = self.rng.choice((0.0, 1.0, 8.0))
        self.wire.pace = self.rng.choice((0.0, 0.0, 0.1, 0.8))
        self._record(f"a line takes {self.wire.pace}, a list {self.server.list_end_seconds}")

    def end_faults(self) -> None:
        """Inject no more faults; broken watches stay broken until they are detected."""
        self._record("no more faults")
        self.faults.rate = 0.0
        self.server.up = True
        self.wire.pace = 0.0

    def body(self, key: ObjectKey) -> Object:
        """A new unique state of an object."""
        self._number += 1
        return {
            "metadata": {
                "namespace": key.namespace,
                "name": key.name,
                "labels": dict(self.rng.choice(LABELS)),
            },
            "data": {"n": str(self._number)},
        }

    def _put(self, key: ObjectKey) -> None:
        body = self.body(key)
        config_map = self.server.put(CONFIG_MAP, body)
        version = config_map["metadata"]["resourceVersion"]
        self._record(f"put {key} {body['metadata']['labels']} @{version}")

    def _drop(self, key: ObjectKey) -> None:
        self._record(f"delete {key}")
        self.server.remove(CONFIG_MAP, key)

    def _recreate(self, key: ObjectKey) -> None:
        self._drop(key)
        self._put(key)

    def _break_a_watch(self) -> None:
        if not self.server.watches:
            return
        watch = self.rng.choice(list(self.server.watches))
        keep = self.rng.randint(0, watch.unread)
        faults: Sequence[tuple[str, Action]] = (
            ("end", watch.end),
            ("reset", lambda: watch.reset(keep)),
            ("tear", lambda: watch.tear(keep)),
            ("expire", watch.fail),
            ("429 in stream", lambda: watch.fail(too_many())),
            ("500 in stream", lambda: watch.fail(internal())),
            ("repeat", watch.repeat),
            ("freeze", lambda: watch.freeze(keep)),
            ("mute", watch.mute),
        )
        name, inject = self.rng.choice(faults)
        self._record(f"watch: {name}")
        inject()

    def _change_error_rate(self) -> None:
        self.faults.rate = self.rng.choice((0.0, 0.3, 0.7, 1.0))
        self._record(f"calls fail at a rate of {self.faults.rate}")

    def _compact(self) -> None:
        keep = self.rng.choice((0, 0, 3))
        self._record(f"compact, keep {keep}")
        self.server.storage.compact(keep)

    def _restart(self) -> None:
        self.server.up = self.rng.random() < 0.5
        self._record(f"restart, {'up' if self.server.up else 'down for a while'}")
        self.server.restart()

    def _toggle(self) -> None:
        self.server.up = True
        self.server.watch_list = self.rng.random() < 0.5
        self._record(f"up, streamed lists {self.server.watch_list}")

    def _write_elsewhere(self) -> None:
        self.server.storage.skip(self.rng.randint(1, 50))

    def key(self) -> ObjectKey:
        """The key of an object that exists or may exist."""
        return ObjectKey(self.rng.choice(NAMESPACES), self.rng.choice(NAMES))

    def _record(self, what: str) -> None:
        self.history.append(f"{self.clock.monotonic():9.3f} {what}")
