"""What every mode of our side uses: flags, a client, informers, a controller."""

import argparse
import asyncio
import random
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import orjson

from runtime.cache.informers import InformerSet
from runtime.client.client import Client
from runtime.client.credentials import ServiceAccountCredentials
from runtime.clock import SystemClock
from runtime.controller.controller import Controller, Reconciler
from runtime.metrics.metrics import Metrics
from runtime.types import Request

END = "zz-end"

SETTLING_SECONDS = 3.0
"""From the end of the preparation to the measurement, so that work of the start ends. A fixed time
on purpose, and the same in the Go program: a garbage collector does not report when it is idle."""


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags, the same as of the Go program. `account`: a ServiceAccount folder as in a pod."""

    mode: str
    server: str
    account: Path
    namespace: str
    shape: str
    count: int
    rounds: int
    workers: int
    busy: bool

    @classmethod
    def read(cls, modes: Iterable[str]) -> Self:
        parser = argparse.ArgumentParser()
        parser.add_argument("-mode", choices=[*modes], required=True)
        parser.add_argument("-server", default="")
        parser.add_argument("-account", type=Path, default=Path())
        parser.add_argument("-namespace", default="")
        parser.add_argument("-shape", choices=["metadata", "full"], default="full")
        parser.add_argument("-count", type=int, default=1000)
        parser.add_argument("-rounds", type=int, default=1)
        parser.add_argument("-workers", type=int, default=1)
        parser.add_argument("-busy", action="store_true")
        return cls(**vars(parser.parse_args()))

    def requests(self, prefix: str) -> list[Request]:
        return [Request(self.namespace, f"{prefix}-{number:06d}") for number in range(self.count)]


class Process:
    """A client and informers that are configured as in a pod."""

    def __init__(self, flags: Flags) -> None:
        self.clock = SystemClock()
        self.metrics = Metrics()
        credentials = ServiceAccountCredentials(flags.account, flags.server, self.clock)
        self.client = Client(
            credentials, user_agent="bench", clock=self.clock, metrics=self.metrics, timeout=60.0
        )
        self.rng = random.Random(1)  # noqa: S311  jitter, not keys
        self.informers = InformerSet(
            self.client, clock=self.clock, rng=self.rng, metrics=self.metrics
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._controller: Controller | None = None

    def controller(self, reconcile: Reconciler, workers: int) -> Controller:
        """The one controller of the mode; `start` starts it."""
        controller = Controller(
            "bench", reconcile, clock=self.clock, metrics=self.metrics, workers=workers
        )
        self._controller = controller
        return controller

    def start(self) -> None:
        """Run informers and controller in tasks; a crash of one ends the process."""
        runs = [self.informers.run()]
        if self._controller is not None:
            runs.append(self._controller.run())
        for run in runs:
            task = asyncio.create_task(run)
            task.add_done_callback(_fatal)
            self._tasks.append(task)

    async def end(self) -> None:
        for task in self._tasks:
            task.remove_done_callback(_fatal)
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.client.close()

    @staticmethod
    def ready() -> None:
        """Signal the measuring process that it may begin to write."""
        write_line({"ready": 1})


def write_line(line: dict[str, float]) -> None:
    sys.stdout.write(orjson.dumps(line).decode() + "\n")
    sys.stdout.flush()


def _fatal(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        task.get_loop().stop()
        raise error
