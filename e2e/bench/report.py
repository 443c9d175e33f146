"""The table: ours, theirs and the ratio, as Markdown and as JSON. Pure."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from e2e.demo import table


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of both programs, per run; `theirs` is empty if only ours has it.

    `digits`: after the decimal point; `more`: more is better; `budget`: the limit of ours.
    """

    what: str
    unit: str
    ours: tuple[float, ...]
    theirs: tuple[float, ...]
    digits: int = 1
    more: bool = False
    budget: float | None = None

    @property
    def ratio(self) -> float | None:
        """Ours over theirs, of the medians."""
        if not self.theirs or not median(self.theirs):
            return None
        return median(self.ours) / median(self.theirs)

    @property
    def is_within_budget(self) -> bool:
        """Whether ours is within its budget."""
        if self.budget is None:
            return True
        value = median(self.ours)
        return value >= self.budget if self.more else value <= self.budget


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine and the date; `load`: the one-minute load average at start and end."""

    when: str
    cores: int
    memory_gib: float
    kubernetes: str
    controller_runtime: str
    runs: int
    load: tuple[float, float]


COLUMNS = ("what", "ours", "controller-runtime", "ours / theirs", "budget")


def cells(row: Row) -> tuple[str, str, str, str, str]:
    """One line of the table."""
    limit = "-" if row.budget is None else f"{'>' if row.more else '<'} {row.budget:g} {row.unit}"
    ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
    return (row.what, _number(row, row.ours), _number(row, row.theirs), ratio, limit)


def _number(row: Row, values: Sequence[float]) -> str:
    if not values:
        return "-"
    return f"{median(values):,.{row.digits}f} {row.unit}".strip()


def headline(machine: Machine) -> str:
    """Date, machine and versions."""
    runs = f"{machine.runs} {'run' if machine.runs == 1 else 'runs'}, medians"
    return (
        f"Measured {machine.when}: {machine.cores} cores, {machine.memory_gib:.0f} GiB, "
        f"Kubernetes {machine.kubernetes}, controller-runtime {machine.controller_runtime}, "
        f"{runs}; load average {machine.load[0]:.1f} before, {machine.load[1]:.1f} after."
    )


def markdown(machine: Machine, rows: Sequence[Row]) -> str:
    """The section for a page of documentation."""
    return f"{headline(machine)}\n\n{table.markdown(COLUMNS, [cells(row) for row in rows])}\n"


def plain(rows: Sequence[Row]) -> str:
    """The table for a terminal."""
    return table.plain(COLUMNS, [cells(row) for row in rows])


def as_json(machine: Machine, rows: Sequence[Row]) -> dict[str, Any]:
    """Everything as plain values."""
    lines = [
        {**asdict(row), "ratio": row.ratio, "is_within_budget": row.is_within_budget}
        for row in rows
    ]
    return {"machine": asdict(machine), "rows": lines}
