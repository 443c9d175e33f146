"""The two operator processes of a measurement: the leader and the standby."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster_fleet import process
from e2e.cluster_fleet.process import Reading
from e2e.fleet.pod import PORTS, start_in_pod
from e2e.harness.installation import Identity
from e2e.harness.operator import Launcher, Operator
from e2e.rig import Rig
from e2e.rig.layout import free_ports


@dataclass(frozen=True, slots=True)
class Member:
    """One process and the port of its metrics."""

    operator: Operator
    launcher: Launcher
    port: int

    def read(self) -> Reading:
        """Read its state. Raises OSError when it does not respond."""
        return process.read(self.operator, self.port)

    def leads(self) -> bool:
        """Whether it holds the Lease; False while it does not respond."""
        try:
            return self.read().leads
        except OSError:
            return False

    def is_idle(self, clusters: int) -> bool:
        """Whether it has reconciled that many clusters and its queues are empty."""
        try:
            reading = self.read()
        except OSError:
            return False
        workload = reading.reconciles.get("openbaocluster-workload", 0.0)
        return reading.leads and workload >= clusters and reading.depth == 0


def start(rig: Rig, identity: Identity, folder: Path, environment: Mapping[str, str]) -> Member:
    """Start one with the credentials of a pod; creates `folder`."""
    folder.mkdir()
    launcher = Launcher(rig, folder)
    (port,) = free_ports(PORTS, 1)
    operator = start_in_pod(
        launcher, identity, {**environment, "POD_NAME": folder.name}, listen=port, arguments=()
    )
    return Member(operator, launcher, port)
