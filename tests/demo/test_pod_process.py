"""Reading the memory of a process."""

import pytest

from e2e.demo.pod_process import Memory, parse_memory

STATUS = "Name:\tpython3\nVmPeak:\t  999999 kB\nVmHWM:\t  100000 kB\nVmRSS:\t   80000 kB\n"


def test_the_current_and_the_peak_resident_memory_are_parsed() -> None:
    assert parse_memory("pod-a", STATUS) == Memory("pod-a", now=81.92, peak=102.4)


def test_a_status_without_memory_is_refused() -> None:
    with pytest.raises(KeyError):
        parse_memory("pod-a", "Name:\tkthreadd\n")
