"""Runs all measurements, and returns the rows of the report."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from e2e.bench.load import Load, page
from e2e.bench.program import Program, Results, Writes
from e2e.bench.report import Row

OBJECT_BYTES = 6000
KIB = 1024.0
PARTS = ("sync", "events", "latency", "noop", "passes", "apply")
# In Go, a whole ConfigMap is decoded from protobuf into its type; a custom resource has neither.
SHAPES = {
    "metadata": "metadata only",
    "full": "whole",
    "dynamic": "whole, theirs unstructured",
}
Both = tuple[list[Results], list[Results]]
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of the measurements; `scale` reduces them."""

    runs: int = 3
    objects: tuple[int, ...] = (10_000,)
    scale: float = 1.0
    parts: tuple[str, ...] = PARTS

    def of(self, number: int) -> int:
        """That many, scaled."""
        return max(int(number * self.scale), 20)


@dataclass(slots=True)
class Session:
    """Runs the modes, alternating between ours and theirs."""

    ours: Program
    theirs: Program
    load: Load
    sizes: Sizes
    progress: Progress
    rows: list[Row] = field(default_factory=list)

    async def everything(self) -> list[Row]:
        """Run all parts and return their rows.

        Raises BenchError, TimeoutError, and the errors of the writes.
        """
        parts = {
            "sync": self._syncs,
            "events": self._events,
            "latency": self._latencies,
            "noop": self._noop,
            "passes": self._passes,
            "apply": self._apply,
        }
        for name, part in parts.items():
            if name in self.sizes.parts:
                await part()
        return self.rows

    async def _syncs(self) -> None:
        for objects in self.sizes.objects:
            await self._sync(self.sizes.of(objects))

    async def _latencies(self) -> None:
        await self._latency(busy=False)
        await self._latency(busy=True)

    async def _sync(self, objects: int) -> None:
        namespace = f"sync-{objects}"
        self.progress(f"writing {objects:,} ConfigMaps of {OBJECT_BYTES / 1000:.0f} KB")
        await self.load.fill(namespace, _names("object", objects), page(OBJECT_BYTES))
        for shape, others in (("metadata", ("metadata",)), ("full", ("full", "dynamic"))):
            flags: dict[str, object] = {"namespace": namespace, "shape": shape}
            ours = await self._runs(self.ours, "sync", flags, None)
            for other in others:
                shaped = {**flags, "shape": other}
                both = ours, await self._runs(self.theirs, "sync", shaped, None)
                self._sync_rows(objects, other, both)

    def _sync_rows(self, objects: int, theirs: str, both: Both) -> None:
        title = f"sync of {objects:,}, {SHAPES[theirs]}"

        def per_object(results: Results) -> float:
            return (results["rss"] - results["base"]) / KIB / objects

        self._add(f"{title}: CPU", "s", both, "cpu", digits=2, budget=objects / 5000)
        self._add(f"{title}: time", "s", both, "wall", digits=2)
        limit = 3.0 if theirs == "metadata" else None
        self._derive(f"{title}: memory per object", "KiB", both, per_object, budget=limit)
        self._add(f"{title}: resident", "MB", both, "rss", 1e-6, digits=0)
        self._add(f"{title}: timer late p99", "ms", both, "stall_p99", 1e3)
        if theirs != "dynamic":
            alone: Both = both[0], []
            self._add(f"{title}: loop held, CPU p99", "ms", alone, "held_p99", 1e3, budget=50.0)

    async def _events(self) -> None:
        namespace, objects = "events", self.sizes.of(1000)
        names, updates = _names("object", objects), self.sizes.of(4000)
        await self.load.fill(namespace, names, page(1000))
        writes = partial(self.load.churn, namespace, names, updates)
        both = await self._both("events", {"namespace": namespace}, writes=writes)

        def cost(results: Results) -> float:
            return 1e6 * results["cpu"] / results["events"]

        self._derive("event, watch to reconciler: CPU", "us", both, cost)
        title = "events per second that one core takes"
        self._derive(title, "", both, lambda results: 1e6 / cost(results), digits=0, more=True)

    async def _latency(self, *, busy: bool) -> None:
        namespace = "busy" if busy else "quiet"
        await self.load.fill(namespace, _names("bulk", self.sizes.of(10_000) if busy else 20), {})
        writes = partial(self.load.probe, namespace, self.sizes.of(300))
        flags = {"namespace": namespace, "workers": 4, "busy": busy}
        both = await self._both("latency", flags, writes=writes)
        title = f"write to reconcile, {namespace} queue"
        self._add(f"{title}: p50", "ms", both, "p50", 1e3)
        self._add(f"{title}: p99", "ms", both, "p99", 1e3)

    async def _noop(self) -> None:
        count, rounds = self.sizes.of(20_000), 5
        both = await self._both("noop", {"count": count, "rounds": rounds})
        share = 1e6 / (count * rounds)
        title = "pass that does nothing, queue and controller: CPU"
        self._add(title, "us", both, "cpu", share, budget=50.0)

    async def _passes(self) -> None:
        parents, rounds = self.sizes.of(500), 20
        both = []
        for program in (self.ours, self.theirs):
            # Each has its own children: those of the other have another owner.
            namespace = f"passes-{program.name}"
            await self.load.fill(namespace, _names("parent", parents), {})
            flags = {"namespace": namespace, "count": parents, "rounds": rounds}
            both.append(await self._runs(program, "passes", flags, None))
        pair = both[0], both[1]
        for results in (*both[0], *both[1]):
            if results["writes"]:
                self.progress(f"{results['writes']:.0f} writes in reconciles without a change")

        def cost(results: Results) -> float:
            return 1e6 * results["cpu"] / results["passes"]

        title = "pass over 6 unchanged children"
        self._derive(f"{title}: CPU", "us", pair, cost, digits=0, budget=500.0)
        rate = "unchanged passes per second, one worker"
        self._derive(
            rate,
            "",
            pair,
            lambda results: results["passes"] / results["wall"],
            digits=0,
            more=True,
        )

    async def _apply(self) -> None:
        count = self.sizes.of(4000)
        await self.load.namespace("applies")
        flags = {"namespace": "applies", "count": count, "rounds": 8, "workers": 16}
        both = await self._both("apply", flags)
        self._add("server-side apply: CPU", "us", both, "cpu", 1e6 / count, digits=0)
        rate = "applies per second, 16 side by side"
        self._derive(rate, "", both, lambda results: count / results["wall"], digits=0, more=True)

    async def _both(
        self,
        mode: str,
        flags: dict[str, object],
        *,
        writes: Writes | None = None,
    ) -> Both:
        return (
            await self._runs(self.ours, mode, flags, writes),
            await self._runs(self.theirs, mode, flags, writes),
        )

    async def _runs(
        self, program: Program, mode: str, flags: dict[str, object], writes: Writes | None
    ) -> list[Results]:
        runs = []
        for number in range(1, self.sizes.runs + 1):
            self.progress(f"{mode} {_words(flags)}: {program.name}, {number} of {self.sizes.runs}")
            async with self._end_removed(flags):
                runs.append(await program.run(mode, flags, writes))
        return runs

    @asynccontextmanager
    async def _end_removed(self, flags: dict[str, object]) -> AsyncIterator[None]:
        namespace = str(flags.get("namespace", ""))
        if namespace:
            await self.load.reset(namespace)
        yield

    def _add(  # noqa: PLR0913  the cells of a row
        self,
        what: str,
        unit: str,
        both: Both,
        key: str,
        factor: float = 1.0,
        *,
        digits: int = 1,
        budget: float | None = None,
    ) -> None:
        self._derive(what, unit, both, lambda results: factor * results[key], digits, budget)

    def _derive(  # noqa: PLR0913  the cells of a row
        self,
        what: str,
        unit: str,
        both: Both,
        number: Callable[[Results], float],
        digits: int = 1,
        budget: float | None = None,
        *,
        more: bool = False,
    ) -> None:
        ours, theirs = (tuple(map(number, results)) for results in both)
        row = Row(what, unit, ours, theirs, digits, more, budget)
        self.rows.append(row)


def _names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}-{number:06d}" for number in range(count)]


def _words(flags: dict[str, object]) -> str:
    return " ".join(f"{name}={value}" for name, value in flags.items() if value is not False)
