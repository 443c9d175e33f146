"""Creates the datacenters, starts an operator, and prints the figures."""

import itertools
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import click

from contracts.api.group import API_VERSION
from contracts.datacenter import names
from contracts.datacenter.kinds import DATACENTER_KIND, DATACENTERS, WORKLOADS
from e2e.demo.table import markdown
from e2e.fleet.pod import start_in_pod
from e2e.harness.audit import AuditLog, tally, writes
from e2e.harness.datacenters import ON, install_datacenters
from e2e.harness.installation import identity, install
from e2e.harness.kubernetes import Api, Object
from e2e.harness.operator import Launcher, Operator
from e2e.harness.waiting import until
from e2e.rig import Rig
from runtime.builtin_kinds import DEPLOYMENT

SERVICES = ("agent", "probe", "shipper")
# The number of datacenters in one namespace: namespaces are not measured.
PER_NAMESPACE = 50
WORKERS = 8
TIMEOUT_SECONDS = 900.0
SAMPLE_SECONDS = 0.5
POLL_SECONDS = 1.0
# Bytes of the audit log per poll. With more, the operator is still creating the fleet: a list would
# cost the API server and this machine a second of work.
IDLE_BYTES = 20_000


@dataclass(slots=True)
class Figures:
    """The measured values."""

    rows: list[tuple[str, str]] = field(default_factory=list)

    def note(self, what: str, value: str) -> None:
        """Record one figure, and print it."""
        self.rows.append((what, value))
        click.echo(f"{what}: {value}")


@dataclass(slots=True)
class Memory:
    """The peak memory of an operator so far."""

    operator: Operator
    most: float = 0.0

    def sample(self) -> bool:
        """Measure again; returns false, so that it can be part of a wait condition."""
        self.most = max(self.most, self.operator.resident_megabytes())
        return False


def datacenter(number: int) -> Object:
    """Return the body of one datacenter with three services."""
    return {
        "apiVersion": API_VERSION,
        "kind": DATACENTER_KIND,
        "metadata": {"name": f"dc{number}"},
        "spec": {
            "namespace": namespace(number),
            "region": "eu-central",
            "bootstrapServices": list(map(service, SERVICES)),
        },
    }


def service(name: str, replicas: int = 1) -> Object:
    """Return a realistic Deployment."""
    main = {
        "name": "main",
        "image": "registry.example.com/agent:1.0.0",
        "env": [{"name": "LOG_LEVEL", "value": "info"}],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
    }
    return {"name": name, "replicas": replicas, "services": [main]}


def namespace(number: int) -> str:
    """Return the namespace of a datacenter."""
    return f"fleet-{number // PER_NAMESPACE}"


@contextmanager
def fleet(count: int) -> Iterator[tuple[Rig, Api]]:
    """Start a control plane with `count` datacenters, without an operator."""
    rig = Rig(f"fleet-{os.getpid()}")
    rig.up(control_plane=True)
    try:
        install(rig)
        install_datacenters(rig)
        api = Api(rig)
        for name in sorted({namespace(number) for number in range(count)}):
            api.make_namespace(name)
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(lambda n: api.create(DATACENTERS, datacenter(n)), range(count)))
        yield rig, api
    finally:
        rig.down()


def idle_check(audit: AuditLog) -> Callable[[], bool]:
    """Return a check that is true if there were few requests since its last call."""
    marks = [audit.mark()]

    def idle() -> bool:
        marks.append(audit.mark())
        return marks[-1] - marks[-2] < IDLE_BYTES

    return idle


def all_settled(api: Api, count: int) -> bool:
    """Whether the status of all datacenters has their three services."""
    statuses = [obj.get("status") or {} for obj in api.list(DATACENTERS, None)]
    if sum(status.get("services") == len(SERVICES) for status in statuses) < count:
        return False
    rows = api.list(WORKLOADS, None)
    states = Counter((row.get("status") or {}).get("state", "") for row in rows)
    return states == {"Provisioning": count * len(SERVICES)}


def quiet(audit: AuditLog, user: str, minutes: float, also: Callable[[], object]) -> list[str]:
    """Wait for `minutes`, and return the writes of `user` in that time."""
    mark, end = audit.mark(), time.monotonic() + minutes * 60.0
    while time.monotonic() < end:
        also()
        time.sleep(SAMPLE_SECONDS)
    return list(map(str, writes(audit.since(mark, user))))


def seconds_of_a_change(api: Api, number: int) -> float:
    """Change the replicas of one datacenter; return the seconds until its status is current."""
    name = f"dc{number}"
    bodies = [service(each, replicas=2 if each == "agent" else 1) for each in SERVICES]
    child = names.object_name(name, "agent")
    began = time.monotonic()
    api.patch(DATACENTERS, None, name, {"spec": {"bootstrapServices": bodies}})
    path = namespace(number), child
    until(
        "the Deployment is updated",
        lambda: api.get(DEPLOYMENT, *path)["spec"]["replicas"] == 2,
        60.0,
        every=0.01,
    )
    return time.monotonic() - began


def measure(rig: Rig, api: Api, count: int, minutes: float, folder: Path) -> Figures:
    """Start an operator and measure it."""
    figures, audit = Figures(), AuditLog(rig.audit_log)
    who, launcher = identity(rig, api, folder), Launcher(rig, folder)
    mark, began, idle = audit.mark(), datetime.now(UTC), idle_check(audit)
    operator = start_in_pod(launcher, who, ON)
    try:
        memory = Memory(operator)

        def is_created() -> bool:
            return memory.sample() or (idle() and all_settled(api, count))

        until("the fleet is created", is_created, TIMEOUT_SECONDS, every=POLL_SECONDS)
        figures.note("processor time of the first pass", f"{operator.processor_seconds():.1f} s")
        requests = audit.since(mark, who.user)
        took = datetime.fromisoformat(writes(requests)[-1].at) - began
        figures.note("first pass, from start to last write", f"{took.total_seconds():.1f} s")
        figures.note("requests of the first pass", str(len(requests)))
        figures.note("of which", tally(requests))
        written = quiet(audit, who.user, minutes, memory.sample)
        figures.note(f"writes in {minutes:g} min without changes", str(len(written)))
        click.echo("\n".join(itertools.islice(written, 20)))
        changes = sorted(
            seconds_of_a_change(api, number) for number in range(0, count, max(1, count // 9))
        )
        figures.note("one change, median", f"{changes[len(changes) // 2]:.2f} s")
        figures.note("one change, slowest", f"{changes[-1]:.2f} s")
        figures.note("resident memory, highest", f"{memory.most:.0f} MB")
    finally:
        launcher.stop_all()
    return figures


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--datacenters", type=click.IntRange(1, 5000), default=1500, show_default=True)
@click.option("--minutes", type=float, default=10.0, show_default=True, help="Without changes.")
def main(datacenters: int, minutes: float) -> None:
    """Measure an operator with many datacenters of three services each."""
    with tempfile.TemporaryDirectory() as name, fleet(datacenters) as (rig, api):
        figures = measure(rig, api, datacenters, minutes, Path(name))
    click.echo(markdown(("what", "measured"), figures.rows))
