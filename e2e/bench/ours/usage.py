"""The resource usage of this process: time, CPU and memory."""

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

Results = dict[str, float]


@dataclass(frozen=True, slots=True)
class Usage:
    """Wall time and CPU time of this process at one moment, in seconds."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> Self:
        spent = resource.getrusage(resource.RUSAGE_SELF)
        return cls(time.time(), spent.ru_utime + spent.ru_stime)

    def until(self, end: "Usage") -> Results:
        return {"wall": end.wall - self.wall, "cpu": end.cpu - self.cpu}


def memory(field: str) -> float:
    """A field of /proc/self/status, in bytes."""
    for line in Path(f"/proc/{os.getpid()}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return float(value.split()[0]) * 1024
    raise KeyError(field)


def percentile(samples: list[float], share: float) -> float:
    """The percentile by nearest rank; 0 without samples."""
    ranked = sorted(samples)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))] if ranked else 0.0
