"""Reads the memory of a process in a pod from /proc with kubectl exec."""

import re
from dataclasses import dataclass

from e2e.demo.kubectl import Kubectl

_LINE = re.compile(r"^(VmRSS|VmHWM):\s+(\d+) kB$", re.MULTILINE)
# The image certainly has Python, and may have no other program to read a file.
_READ = "print(open('/proc/1/status').read())"


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident memory of one process in MB (10^6 bytes): current and peak."""

    pod: str
    now: float
    peak: float


def parse(pod: str, status: str) -> Memory:
    """Parse /proc/PID/status (man 5 proc). Raises KeyError if the lines are missing."""
    sizes = {name: int(size) * 1024 / 1e6 for name, size in _LINE.findall(status)}
    return Memory(pod, sizes["VmRSS"], sizes["VmHWM"])


def of_pod(kubectl: Kubectl, namespace: str, pod: str) -> Memory:
    """Read the memory of process 1 of a pod. Raises DemoError."""
    return parse(pod, kubectl("exec", "-n", namespace, pod, "--", "python3", "-c", _READ))
