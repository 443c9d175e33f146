"""Tables of the figures of alternating runs. Pure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

OPERATIONS = ("writes", "reads", "logins")


@dataclass(frozen=True, slots=True)
class Measured:
    """One operation of one run."""

    per_second: float
    leader: float
    """Seconds of CPU of the leader for one request."""
    others: float
    """The sum of all other servers."""


Run = dict[str, Measured]
"""By operation."""
Value = Callable[[Measured], float]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A variant and the default, measured alternately."""

    title: str
    pairs: Sequence[tuple[Run, Run]]
    """Default and variant of each round."""

    def row(self, value: Value) -> tuple[str, ...]:
        """Return the ratio of a value for each operation: median, lowest to highest."""
        return (self.title, *(self._ratio(value, operation) for operation in OPERATIONS))

    def _ratio(self, value: Value, operation: str) -> str:
        ratios = [value(new[operation]) / value(old[operation]) for old, new in self.pairs]
        return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def per_second(measurement: Measured) -> float:
    """Return the rate."""
    return measurement.per_second


def cpu(measurement: Measured) -> float:
    """Return the CPU of all servers for one request, in seconds."""
    return measurement.leader + measurement.others


def tables(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Return the ratios of the rate and of the CPU for each request."""
    for title, value in (("per second", per_second), ("CPU of all servers", cpu)):
        yield markdown((title, *OPERATIONS), [comparison.row(value) for comparison in comparisons])


def absolute(runs: Sequence[Run]) -> str:
    """Return the rate of requests, and the CPU for one request."""
    rows = (
        ("per second", 1.0, 0, per_second),
        ("CPU of the leader, ms", 1000.0, 2, lambda measurement: measurement.leader),
        ("CPU of the other servers, ms", 1000.0, 2, lambda measurement: measurement.others),
    )
    return markdown(
        ("the default", *OPERATIONS),
        [
            (title, *(_spread(runs, operation, value, scale, digits) for operation in OPERATIONS))
            for title, scale, digits, value in rows
        ],
    )


def _spread(runs: Sequence[Run], operation: str, value: Value, scale: float, digits: int) -> str:
    values = [value(run[operation]) * scale for run in runs]
    low, middle, high = (
        f"{edge:.{digits}f}" for edge in (min(values), median(values), max(values))
    )
    return f"{middle} ({low} to {high})"


def markdown(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    rule = ["---", *["---:"] * (len(headers) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (headers, rule, *rows))
