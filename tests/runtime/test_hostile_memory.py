"""The memory for objects of hostile users, measured in a new process each."""

import subprocess
import sys

import pytest

from tests.runtime.hostile_store import KINDS

MIB_MAX = 64
"""For a thousand objects of the largest size that an API server stores."""
MANY, SOME = 1000, 60
NOISE = 36
"""MiB of a working process itself: four times as many objects cost 4 MiB more."""


def cost(kind: str, count: int, way: str) -> tuple[int, int]:
    """MiB at the peak, and at the end."""
    command = [sys.executable, "-m", "tests.runtime.hostile_store", kind, str(count), way]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    held, highest, at_end = map(int, ran.stdout.splitlines()[-1].split())
    assert held == count
    return highest, at_end


def test_t31_a_thousand_hostile_objects_cost_little() -> None:
    highest, at_end = cost("text", MANY, "stream")
    assert max(highest, at_end) < MIB_MAX


@pytest.mark.parametrize("way", ["stream", "pages"])
@pytest.mark.parametrize("kind", KINDS)
def test_t31_hostile_objects_of_each_kind_cost_little(kind: str, way: str) -> None:
    highest, at_end = cost(kind, SOME, way)
    assert highest < MIB_MAX
    assert at_end < NOISE + MIB_MAX * SOME / MANY
