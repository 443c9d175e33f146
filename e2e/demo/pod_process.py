"""Reads memory and CPU time of the main process of a pod from /proc with kubectl exec."""

import re
from dataclasses import dataclass

from e2e.demo.kubectl import Kubectl
from e2e.rig.processes import parse_cpu_seconds

_LINE = re.compile(r"^(VmRSS|VmHWM):\s+(\d+) kB$", re.MULTILINE)
# The image certainly has Python, and may have no other program to read a file.
_READ = "print(open('/proc/1/{}').read())"


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


def memory_of(kubectl: Kubectl, namespace: str, pod: str) -> Memory:
    """Read the memory of process 1 of a pod. Raises DemoError."""
    return parse_memory(pod, _read(kubectl, namespace, pod, "status"))


def cpu_seconds_of(kubectl: Kubectl, namespace: str, pod: str) -> float:
    """Read the CPU time of process 1 of a pod. Raises DemoError."""
    return parse_cpu_seconds(_read(kubectl, namespace, pod, "stat"))


def _read(kubectl: Kubectl, namespace: str, pod: str, file: str) -> str:
    return kubectl("exec", "-n", namespace, pod, "--", "python3", "-c", _READ.format(file))
