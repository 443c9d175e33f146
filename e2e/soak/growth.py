"""Judges whether a sampled figure grows. Has no side effects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Sample = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Limit:
    """The allowed growth of a figure in the second half: absolute, or relative to its mean."""

    name: str
    absolute: float
    share: float
    factor: float = 1.0
    unit: str = ""


LIMITS = (
    Limit("tasks", 3.0, 0.10),
    Limit("sockets", 3.0, 0.10),
    Limit("files", 3.0, 0.10),
    Limit("resident", 2e6, 0.03, 1e-6, "MB"),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The second half of one figure: its range, and the growth of its fitted line."""

    limit: Limit
    lowest: float
    highest: float
    growth: float
    allowed: float

    @property
    def grows(self) -> bool:
        return self.growth > self.allowed


def growth(values: Sequence[float]) -> float:
    """Return the rise of a line fitted to evenly spaced values, from the first to the last."""
    count = len(values)
    if count < 2:
        return 0.0
    middle, mean = (count - 1) / 2, sum(values) / count
    top = sum((x - middle) * (y - mean) for x, y in enumerate(values))
    return (count - 1) * top / sum((x - middle) ** 2 for x in range(count))


def judge(samples: Sequence[Sample]) -> list[Verdict]:
    """Judge each figure by the second half; caches and pools fill in the first half."""
    half = samples[len(samples) // 2 :]
    verdicts = []
    for limit in LIMITS:
        values = [sample[limit.name] for sample in half]
        allowed = max(limit.absolute, limit.share * sum(values) / len(values))
        verdicts.append(Verdict(limit, min(values), max(values), growth(values), allowed))
    return verdicts


def plot(values: Sequence[float], width: int = 60) -> str:
    """Draw the values as a line of block characters."""
    blocks = "▁▂▃▄▅▆▇█"
    step = max(len(values) / width, 1.0)
    picked = [values[int(n * step)] for n in range(min(width, len(values)))]
    low, high = min(picked), max(picked)
    span = (high - low) or 1.0
    return "".join(blocks[int((value - low) / span * (len(blocks) - 1))] for value in picked)
