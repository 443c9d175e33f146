"""Reading memory and CPU time of a process."""

import pytest

from e2e.demo.pod_process import Memory, parse_cpu_seconds, parse_memory

STATUS = "Name:\tpython3\nVmPeak:\t  999999 kB\nVmHWM:\t  100000 kB\nVmRSS:\t   80000 kB\n"
STAT = (
    "1 (python3 (a b)) S 0 1 1 0 -1 4194560 9999 8888 7 6 250 50 9000 8000 20 0 3 0 12345 1\n 100"
)


def test_the_current_and_the_peak_resident_memory_are_parsed() -> None:
    assert parse_memory("pod-a", STATUS) == Memory("pod-a", now=81.92, peak=102.4)


def test_a_status_without_memory_is_refused() -> None:
    with pytest.raises(KeyError):
        parse_memory("pod-a", "Name:\tkthreadd\n")


def test_the_cpu_time_is_that_of_the_process_without_its_children() -> None:
    assert parse_cpu_seconds(STAT) == 3.0
