"""Results as JSON and as Markdown. Pure."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from e2e.demo import speed, table
from e2e.demo.audit import Tally
from e2e.demo.pod_process import Memory
from e2e.demo.screen import duration
from e2e.demo.timeline import Milestone, seconds_to
from e2e.measure.bring_up import OperatorRun
from e2e.measure.concurrent_clusters import ConcurrentRun

# Times are compared within one run, never with another machine.
RATIO_BUDGET = 1.3
REQUEST_BUDGET = 70
WRITE_BUDGET = 35
CONCURRENT_BUDGET = 12.0
MEMORY_BUDGET = 120.0
CPU_BUDGET = 1.5
CPU_BUDGET_RUNS = 3
"""The budget is for this number of clusters of three servers and five of one server."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine and the versions of a measurement."""

    when: str
    cores: int
    memory_gib: float
    kubernetes: str
    openbao: str


@dataclass(slots=True)
class Results:
    """All results of one `make measure`; times in seconds, memory in MB (10^6 bytes).

    `cpu_seconds` is the CPU time of the operator pods for `runs` and `concurrent`.
    """

    machine: Machine
    quiet_seconds: float
    runs: list[OperatorRun] = field(default_factory=list)
    without_operator: list[list[Milestone]] = field(default_factory=list)
    concurrent: ConcurrentRun | None = None
    cpu_seconds: float = 0.0
    quiet: Tally | None = None
    memory: list[Memory] = field(default_factory=list)


def all_ready(milestones: Sequence[Milestone]) -> float:
    """Return when the last pod was Ready. Raises ValueError if none was."""
    return max(
        milestone.seconds
        for milestone in milestones
        if milestone.name.endswith("pod Ready") or _is_join(milestone)
    )


def _is_join(milestone: Milestone) -> bool:
    return milestone.name.startswith("pod ") and milestone.name.endswith(" Ready")


def available(run: OperatorRun) -> float:
    """Return when the cluster was Available. Raises ValueError if it was not."""
    seconds = seconds_to(run.milestones, "Available")
    if seconds is None:
        raise ValueError("a run that never became Available")
    return seconds


def spread(seconds: Sequence[float]) -> str:
    """Format the median of times, with minimum and maximum if there are several."""
    middle = f"{median(seconds):.1f} s"
    if len(seconds) == 1:
        return middle
    return f"{middle} ({min(seconds):.1f} to {max(seconds):.1f})"


def counts(values: Sequence[int]) -> str:
    """Format the median of counts, with minimum and maximum if they differ."""
    middle = f"{median(values):g}"
    if min(values) == max(values):
        return middle
    return f"{middle} ({min(values)} to {max(values)})"


def ratio(results: Results) -> float:
    """Return the median time with the operator over the median time without."""
    with_operator = median(available(run) for run in results.runs)
    return with_operator / median(all_ready(marks) for marks in results.without_operator)


def summary_rows(results: Results) -> list[tuple[str, str, str]]:
    """The measurements and their budgets."""
    requests = counts([run.requests.total for run in results.runs])
    writes = counts([run.requests.writes for run in results.runs])
    times = [available(run) for run in results.runs]
    rows = [
        (
            "three servers Ready, no operator",
            spread([all_ready(milestones) for milestones in results.without_operator]),
            "-",
        ),
        ("three servers, apply to Available", spread(times), "-"),
        ("ratio, with to without operator", f"{ratio(results):.2f}", f"<= {RATIO_BUDGET}"),
        ("API requests until Available", requests, f"<= {REQUEST_BUDGET}"),
        ("of which writes", writes, f"<= {WRITE_BUDGET}"),
    ]
    if results.concurrent is not None:
        slowest = f"{max(results.concurrent.seconds.values()):.1f} s"
        rows.append(
            ("five one-server clusters Available", slowest, f"<= {CONCURRENT_BUDGET:.0f} s")
        )
        rows.append(("API requests for these five", str(results.concurrent.requests.total), "-"))
        budget = f"<= {CPU_BUDGET} s" if len(results.runs) == CPU_BUDGET_RUNS else "-"
        rows.append(("CPU time for all of these clusters", f"{results.cpu_seconds:.2f} s", budget))
    if results.quiet is not None:
        long = duration(results.quiet_seconds)
        rows.append((f"API requests in {long} of quiet", str(results.quiet.total), "-"))
        rows.append(("of which writes", str(results.quiet.writes), "0"))
    if results.memory:
        highest = max(pod_memory.peak for pod_memory in results.memory)
        rows.append(("resident memory, highest", f"{highest:.0f} MB", f"< {MEMORY_BUDGET:.0f} MB"))
    return rows


def milestone_rows(results: Results) -> list[tuple[str, str, str]]:
    """The milestones of a first boot, without and with the operator."""
    by_operator = [run.milestones for run in results.runs]
    names = dict.fromkeys(mark.name for marks in by_operator for mark in marks)
    rows = []
    for name in names:
        cells = [_cell(marks, name) for marks in (results.without_operator, by_operator)]
        rows.append((name, cells[0], cells[1]))
    return rows


def _cell(runs: Sequence[Sequence[Milestone]], name: str) -> str:
    values = [seconds for marks in runs if (seconds := seconds_to(marks, name)) is not None]
    return spread(values) if values else "-"


def _resource_rows(tally: Tally) -> list[tuple[str, str]]:
    return [(what, str(count)) for what, count in speed.by_resource(tally).items()]


def markdown(results: Results) -> str:
    """Return the section for a page of documentation."""
    where = results.machine
    runs = len(results.runs)
    last = results.runs[-1]
    parts = [
        f"Measured {where.when}: {where.cores} cores, {where.memory_gib:.0f} GiB, "
        f"Kubernetes {where.kubernetes}, OpenBao {where.openbao}, "
        f"{runs} {'run' if runs == 1 else 'runs'}; median (lowest to highest).",
        table.markdown(("what", "measured", "budget"), summary_rows(results)),
        table.markdown(("since the apply", "no operator", "operator"), milestone_rows(results)),
        table.markdown(
            ("API requests until Available, last run", "count"),
            _resource_rows(last.requests),
        ),
    ]
    if results.quiet is not None and results.quiet.total:
        quiet = table.markdown(
            ("API requests without changes", "count"), _resource_rows(results.quiet)
        )
        parts.append(quiet)
    if results.memory:
        rows = speed.memory_rows(results.memory)
        parts.append(table.markdown(("operator pod", "resident", "at most"), rows))
    return "\n\n".join(parts) + "\n"


def as_json(results: Results) -> dict[str, Any]:
    """Return the results as plain values."""
    return {
        "machine": asdict(results.machine),
        "ratio": round(ratio(results), 3),
        "operator": [
            {
                "milestones": _milestones(run.milestones),
                "requests": _tally(run.requests),
                "requestsToVoters": _tally(run.requests_to_voters),
            }
            for run in results.runs
        ],
        "without_operator": [_milestones(marks) for marks in results.without_operator],
        "concurrent": results.concurrent
        and {
            "seconds": results.concurrent.seconds,
            "requests": _tally(results.concurrent.requests),
        },
        "cpuSeconds": results.cpu_seconds,
        "quiet": results.quiet
        and {"seconds": results.quiet_seconds, "requests": _tally(results.quiet)},
        "memory": [asdict(pod_memory) for pod_memory in results.memory],
    }


def _milestones(marks: Sequence[Milestone]) -> dict[str, float]:
    return {mark.name: round(mark.seconds, 3) for mark in marks}


def _tally(tally: Tally) -> dict[str, Any]:
    return {
        "total": tally.total,
        "reads": tally.reads,
        "watches": tally.watches,
        "writes": tally.writes,
        "notFound": tally.not_found,
        "refused": tally.refused,
        "byResource": speed.by_resource(tally),
    }
