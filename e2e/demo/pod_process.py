"""Reads memory and CPU time of the main process of a pod from /proc with kubectl exec."""

import re
from dataclasses import dataclass

from e2e.demo.kubectl import Kubectl

_LINE = re.compile(r"^(VmRSS|VmHWM):\s+(\d+) kB$", re.MULTILINE)
# The image certainly has Python, and may have no other program to read a file.
_STATUS = "print(open('/proc/1/status').read())"
_CPU = "import os; print(open('/proc/1/stat').read(), os.sysconf('SC_CLK_TCK'))"


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident memory of one process in MB (10^6 bytes): current and peak."""

    pod: str
    now: float
    peak: float


def parse_memory(pod: str, status: str) -> Memory:
    """Parse /proc/PID/status (proc(5)). Raises KeyError if the lines are missing."""
    sizes = {name: int(size) * 1024 / 1e6 for name, size in _LINE.findall(status)}
    return Memory(pod, sizes["VmRSS"], sizes["VmHWM"])


def parse_cpu_seconds(stat: str) -> float:
    """Parse /proc/PID/stat (proc(5)) and the clock ticks per second. Raises ValueError.

    Returns the CPU time of the process in user and system mode, without its children.
    """
    # The name of the process, in parentheses, may contain blanks.
    fields = stat.rpartition(")")[2].split()
    user, system, ticks = (int(fields[index]) for index in (11, 12, -1))
    return (user + system) / ticks


def memory_of(kubectl: Kubectl, namespace: str, pod: str) -> Memory:
    """Read the memory of process 1 of a pod. Raises DemoError."""
    return parse_memory(pod, _read(kubectl, namespace, pod, _STATUS))


def cpu_seconds_of(kubectl: Kubectl, namespace: str, pod: str) -> float:
    """Read the CPU time of process 1 of a pod. Raises DemoError."""
    return parse_cpu_seconds(_read(kubectl, namespace, pod, _CPU))


def _read(kubectl: Kubectl, namespace: str, pod: str, script: str) -> str:
    return kubectl("exec", "-n", namespace, pod, "--", "python3", "-c", script)
