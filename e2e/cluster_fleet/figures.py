"""The figures of a run, the goals, and how figures grow with the number of clusters. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Phase:
    """The resources that the operator used in one phase.

    `lag` is the delay of a timer of the event loop, `queued` the wait of a key for a worker; both
    are 99th percentiles in seconds, estimated from histograms. `reaction` are the seconds from each
    change to its effect.
    """

    name: str
    seconds: float
    requests: Mapping[str, int]
    """By verb, without those of leases."""
    writes: int
    cpu: float
    """Seconds of a core."""
    waiting: float
    """Seconds in which the main thread was ready to run and had no core."""
    resident: float
    """Megabytes at the end."""
    lag: float
    queued: float
    reaction: Sequence[float] = ()

    @property
    def total(self) -> int:
        """All requests."""
        return sum(self.requests.values())


@dataclass(frozen=True, slots=True)
class Run:
    """All phases with one number of clusters. `standby` is its resident memory in megabytes."""

    clusters: int
    phases: Mapping[str, Phase] = field(default_factory=dict)
    standby: float = 0.0


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure of a run and its bound."""

    what: str
    value: float
    bound: float
    unit: str

    @property
    def is_met(self) -> bool:
        """Whether the figure is within the bound."""
        return self.value <= self.bound


PHASE_COLUMNS = (
    "clusters", "phase", "seconds", "requests", "get", "list", "watch", "create", "patch", "other",
    "writes", "CPU s", "no core s", "MB", "loop p99", "queue p99",
)  # fmt: skip
_VERBS = ("get", "list", "watch", "create", "patch")


def phase_row(clusters: int, phase: Phase) -> tuple[str, ...]:
    """Cells of PHASE_COLUMNS."""
    counts = [phase.requests.get(verb, 0) for verb in _VERBS]
    return (
        str(clusters),
        phase.name,
        f"{phase.seconds:.1f}",
        str(phase.total),
        *map(str, counts),
        str(phase.total - sum(counts)),
        str(phase.writes),
        f"{phase.cpu:.2f}",
        f"{phase.waiting:.2f}",
        f"{phase.resident:.0f}",
        _milliseconds(phase.lag),
        _milliseconds(phase.queued),
    )


def goals(run: Run) -> list[Goal]:
    """Compare a run with the goals, which are in proportion to the number of clusters.

    The goals of requests and CPU in the phase quiet are for all clusters together.
    """
    share = run.clusters / 1000
    idle = 0.0 if run.clusters == 1 else 5.0
    create, quiet, change = run.phases["create"], run.phases["quiet"], run.phases["change"]
    failover, outage = run.phases["failover"], run.phases["outage"]
    most = max(phase.resident for phase in run.phases.values())
    return [
        Goal("create: all Available", create.seconds, max(600.0 * share, 20.0), "s"),
        Goal("create: requests of a cluster", create.total / run.clusters, 45.0, ""),
        Goal("quiet: requests a second", quiet.total / quiet.seconds, idle, ""),
        Goal("quiet: writes", quiet.writes, 0.0, ""),
        Goal("quiet: share of a core", quiet.cpu / quiet.seconds * 100, 5.0, "%"),
        Goal("change: slowest effect", max(change.reaction, default=0.0), 1.0, "s"),
        Goal("failover: until caught up", failover.seconds, 30.0, "s"),
        Goal("failover: writes", failover.writes, 0.0, ""),
        Goal("outage: writes", outage.writes, 0.0, ""),
        Goal("resident: leader", most, 75.0 + 325.0 * share, "MB"),
        Goal("resident: standby", run.standby, 45.0 + 325.0 * share, "MB"),
        Goal(
            "loop delay p99, worst phase",
            max(phase.lag for phase in run.phases.values()) * 1000,
            50.0,
            "ms",
        ),
    ]


def growth(runs: Sequence[Run]) -> list[tuple[str, ...]]:
    """Exponents of growth between the smallest and the largest run: 1 is linear.

    One row per phase: requests, CPU, seconds. Cells of figures that are 0 are "-".
    """
    small = min(runs, key=lambda run: run.clusters)
    large = max(runs, key=lambda run: run.clusters)
    if small.clusters == large.clusters:
        return []
    ratio = math.log(large.clusters / small.clusters)
    rows = []
    for name, phase in large.phases.items():
        before = small.phases[name]
        pairs = (
            (before.total, phase.total),
            (before.cpu, phase.cpu),
            (before.seconds, phase.seconds),
        )
        rows.append((name, *(_exponent(size, other, ratio) for size, other in pairs)))
    return rows


def _exponent(small: float, large: float, ratio: float) -> str:
    if small <= 0 or large <= 0:
        return "-"
    return f"{math.log(large / small) / ratio:.2f}"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def quantile(buckets: Mapping[float, float], share: float) -> float:
    """Estimate a quantile from cumulative counts by upper bound, as PromQL does; 0 without counts.

    In the last bucket, which has no upper bound, it is the bound of the bucket before.
    """
    ordered = sorted(buckets.items())
    if not ordered or ordered[-1][1] <= 0:
        return 0.0
    rank = share * ordered[-1][1]
    below, count_below = 0.0, 0.0
    for bound, count in ordered:
        if count >= rank:
            if math.isinf(bound):
                return below
            inside = count - count_below
            return below + (bound - below) * ((rank - count_below) / inside if inside else 1.0)
        below, count_below = bound, count
    return below
