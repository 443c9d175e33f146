"""Upgrades whose operator is killed midway, and their cost for a client."""

from typing import NamedTuple

from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.harness.service_writer import ServiceWriter
from e2e.harness.upgrade_history import image_of
from e2e.rig import Rig
from e2e.rig.images import openbao_reference

ROLLING, BLUE_GREEN = "RollingUpdate", "BlueGreen"
HEADERS = ("pair", "strategy", "servers", "seconds", "longest gap", "writes", "failed", "lost")


class Outcome(NamedTuple):
    """The cost of one upgrade for a client that does not retry writes."""

    pair: str
    strategy: str
    servers: int
    seconds: float
    gap: float
    """The longest time without an acknowledged write, in seconds."""
    writes: int
    failed: int
    lost: list[int]
    """The numbers of acknowledged writes that cannot be read."""

    def row(self) -> tuple[str, ...]:
        """Return the cells below HEADERS."""
        seconds = (f"{self.seconds:.1f} s", f"{self.gap:.2f} s")
        counts = (self.servers, self.writes, self.failed, len(self.lost))
        servers, *others = map(str, counts)
        return (self.pair, self.strategy, servers, *seconds, *others)


def outcome_of(
    pair: str, strategy: str, servers: int, seconds: float, writer: ServiceWriter
) -> Outcome:
    """Read back what a client wrote during an upgrade; the cluster still exists."""
    writes, failed = len(writer.writes), len(writer.failed)
    gap = writer.longest_gap
    return Outcome(pair, strategy, servers, seconds, gap, writes, failed, writer.lost())


class Operators:
    """Runs one operator at a time; its predecessor is killed."""

    def __init__(self, rig: Rig, launcher: Launcher, identity: Identity) -> None:
        self._launcher, self._identity = launcher, identity
        self._environment = {"OPERATOR_IMAGE": rig.load_operator_image()}
        self._running = self._start()

    def crash(self) -> None:
        """Kill the operator, and start another one."""
        self._running.faults_expected = True
        self._running.kill()
        self._running = self._start()

    def _start(self) -> Operator:
        return self._launcher.start(self._identity, NO_ELECTION, environment=self._environment)


def assert_all_run(cluster: Cluster, version: str) -> None:
    """Check that each server runs the image of a version."""
    assert {image_of(pod) for pod in cluster.pods()} == {openbao_reference(version)}
