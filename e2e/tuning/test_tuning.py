"""Prints the tables of docs/tuning.md: `kubectl bao bench`, one change at a time.

Runs of a variant and of the default alternate, so that other load on the machine affects both. No
figure has a limit.
"""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Self

import orjson
import pytest

from contracts.api.group import CLUSTERS
from e2e.conftest import MakeNamespace
from e2e.harness.bao import Server
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import SECRETS, account_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.server_process import server_pid
from e2e.harness.waiting import until
from e2e.rig.paths import REPOSITORY
from e2e.rig.processes import parse_cpu_seconds
from e2e.tuning.disk import DISK, SIZE, make_disk_volumes
from e2e.tuning.results import OPERATIONS, Comparison, Measured, Run, absolute, markdown, tables
from e2e.tuning.variants import DEFAULT, MULTIPLIERS, OF_CLUSTERS, OF_RUNS, ON_DISK, Variant
from runtime.builtin_kinds import SERVICE_ACCOUNT

NAME, ACCOUNT = "tuned", "bench"
ROUNDS = 3
DURATION = "3s"
ELECTIONS = 3
POLICY = (
    'path "sys/mounts/bao_bench_*" { capabilities = ["update", "delete"] }\n'
    'path "bao_bench_*" { capabilities = ["create", "read", "update"] }\n'
    f'path "{SECRETS}/bao_bench_*" {{ capabilities = ["create", "read", "update", "delete"] }}'
)
pytestmark = pytest.mark.timeout(3600)


def phase(line: str) -> str:
    """Return the operation whose start a progress line reports; "" for another line."""
    return next(
        (operation for operation in OPERATIONS if line.startswith(f"Measures {operation}")), ""
    )


@dataclass(frozen=True, slots=True)
class Servers:
    """The processes of the servers of a cluster."""

    leader: int
    others: tuple[int, ...]

    @classmethod
    def of(cls, cluster: Cluster) -> Self:
        """Find them."""
        leader = cluster.leader()
        assert leader is not None
        pods = [str(pod["metadata"]["name"]) for pod in cluster.pods()]
        pids = {pod: server_pid(cluster.namespace, pod) for pod in pods}
        server_pids = {pod: pid for pod, pid in pids.items() if pid is not None}
        assert len(server_pids) == len(pods)
        return cls(server_pids.pop(str(leader["metadata"]["name"])), tuple(server_pids.values()))

    def cpu(self) -> tuple[float, float]:
        """Return the seconds of CPU of the leader, and of the others."""
        return cpu_seconds(self.leader), sum(map(cpu_seconds, self.others))

    def memory(self) -> tuple[int, ...]:
        """Return the highest resident memory of the leader and of the others, in MiB."""
        return tuple(peak_mib(pid) for pid in (self.leader, *self.others))


def cpu_seconds(pid: int) -> float:
    return parse_cpu_seconds(Path(f"/proc/{pid}/stat").read_text())


def peak_mib(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) // 1024


@dataclass(slots=True)
class Bench:
    """Creates clusters, and measures them."""

    api: Api
    make_namespace: MakeNamespace
    rates: list[Run] = field(default_factory=list)
    """The runs of the default, one for each round."""

    def cluster(self, variant: Variant, disk: Path | None = None) -> Cluster:
        """Create a cluster with the spec of a variant; `disk` is a folder for its volumes."""
        namespace = self.make_namespace()
        self.api.create(SERVICE_ACCOUNT, {"metadata": {"name": ACCOUNT, "namespace": namespace}})
        cluster = Cluster(self.api, namespace, NAME)
        login = self_init(
            key_value_engine(), *account_login(cluster.audience, namespace, ACCOUNT, POLICY)
        )
        spec = {"replicas": 3, "storage": {"size": SIZE}, "selfInit": login, **variant.spec}
        if disk is not None:
            make_disk_volumes(cluster, 3, disk)
            spec["storage"] = {"size": SIZE, "storageClassName": DISK}
        self.api.create(CLUSTERS, manifest(namespace, NAME, **spec))
        cluster.await_available()
        if spec["replicas"] == 3:
            cluster.await_condition("RaftMembershipReady", reason="AllVoters", seconds=60.0)
        return cluster

    def run(self, cluster: Cluster, variant: Variant) -> Run:
        """Measure a cluster once."""
        words = [
            sys.executable, "-m", "baoctl", "bench", NAME, "-n", cluster.namespace,
            "--service-account", ACCOUNT, "--duration", DURATION, "-o", "json",
            *variant.options, *self._path(cluster, variant),
        ]  # fmt: skip
        servers = Servers.of(cluster)
        used: dict[str, tuple[float, float]] = {}
        with subprocess.Popen(
            words,
            cwd=REPOSITORY,
            env=self.api.rig.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stderr is not None
            assert process.stdout is not None
            operation, before, lines = "", servers.cpu(), []
            for line in process.stderr:
                now = servers.cpu()
                used[operation] = (now[0] - before[0], now[1] - before[1])
                operation, before = phase(line), now
                lines.append(line)
            now = servers.cpu()
            used[operation] = (now[0] - before[0], now[1] - before[1])
            output = process.stdout.read()
        # Exit status 3: some requests failed, and the rate is lower.
        assert process.returncode in (0, 3), f"{variant.title}: {lines}"
        figures_of = {}
        for figures in orjson.loads(output)["operations"]:
            leader, others = used[figures["operation"]]
            count = figures["count"]
            figures_of[figures["operation"]] = Measured(
                figures["perSecond"], leader / count, others / count
            )
        return figures_of

    def default(self, cluster: Cluster) -> Run:
        """Measure the default, and keep the figures."""
        self.rates.append(self.run(cluster, DEFAULT))
        return self.rates[-1]

    def _path(self, cluster: Cluster, variant: Variant) -> list[str]:
        if variant.end == "port-forward":
            return []
        leader = cluster.leader()
        assert leader is not None
        name = leader["metadata"]["name"]
        pods = [other for other in cluster.pods() if other["metadata"]["name"] != name]
        pod = leader if variant.end == "leader" else pods[0]
        return ["--address", f"https://{pod['status']['podIP']}:8200"]


def test_measure_the_variants(
    api: Api, make_namespace: MakeNamespace, operator: Operator, tmp_path: Path
) -> None:
    bench = Bench(api, make_namespace)
    default = bench.cluster(DEFAULT)
    # A warm-up run, which is not counted.
    bench.run(default, DEFAULT)
    runs = of_runs(bench, default)
    say(*tables(runs), absolute(bench.rates))
    clusters: list[Comparison] = []
    for variant in (*OF_CLUSTERS, ON_DISK):
        disk = tmp_path if variant == ON_DISK else None
        clusters.append(of_cluster(bench, default, variant, disk))
        say(f"{time.strftime('%H:%M')}", *tables(clusters))
    say(absolute(bench.rates), f"highest MiB: {Servers.of(default).memory()}")


def of_runs(bench: Bench, cluster: Cluster) -> list[Comparison]:
    """Vary options and path of the run; all variants of a round share one run of the default."""
    pairs: dict[str, list[tuple[Run, Run]]] = {criterion.title: [] for criterion in OF_RUNS}
    for _ in range(ROUNDS):
        before = bench.default(cluster)
        for variant in OF_RUNS:
            pairs[variant.title].append((before, bench.run(cluster, variant)))
    return [Comparison(title, runs) for title, runs in pairs.items()]


def of_cluster(bench: Bench, default: Cluster, variant: Variant, disk: Path | None) -> Comparison:
    """Vary the spec: runs of another cluster and of the default alternate."""
    changed = bench.cluster(variant, disk)
    pairs = [(bench.default(default), bench.run(changed, variant)) for _ in range(ROUNDS)]
    remove(changed)
    return Comparison(variant.title, pairs)


def remove(cluster: Cluster) -> None:
    cluster.api.delete(CLUSTERS, cluster.namespace, NAME)
    until("the cluster is gone", lambda: cluster.find() is None, 60.0)


def test_measure_the_replacement_of_a_killed_leader(
    api: Api, make_namespace: MakeNamespace, operator: Operator
) -> None:
    """A killed leader does not step down: the other servers have to detect its failure."""
    bench, rows = Bench(api, make_namespace), []
    for multiplier in MULTIPLIERS:
        spec = {"configuration": {"raft": {"performanceMultiplier": multiplier}}}
        cluster = bench.cluster(Variant("", spec))
        seconds = [_election(cluster) for _ in range(ELECTIONS)]
        remove(cluster)
        spread = f"{min(seconds):.1f} to {max(seconds):.1f}"
        rows.append((f"{multiplier}", f"{median(seconds):.1f} s ({spread})"))
        say(markdown(("performanceMultiplier", "until a server leads"), rows))


def _election(cluster: Cluster) -> float:
    leader = cluster.leader()
    assert leader is not None
    name = str(leader["metadata"]["name"])
    # With the killed server: it may restart in time to be elected.
    servers = [cluster.server(str(pod["metadata"]["name"])) for pod in cluster.pods()]
    pid = server_pid(cluster.namespace, name)
    assert pid is not None
    begun = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    until("a server leads", lambda: any(map(leads, servers)), 120.0, every=0.02)
    seconds = time.monotonic() - begun
    until("all servers are ready", lambda: len(cluster.ready_pods()) == 3, 120.0)
    cluster.await_available()
    until("a pod is labeled as the leader", lambda: cluster.leader() is not None, 30.0)
    return seconds


def leads(server: Server) -> bool:
    try:
        health = server.health()
    except OSError:
        return False
    return not health["standby"] and not health["sealed"]


def say(*texts: str) -> None:
    for text in texts:
        print(f"\n{text}", flush=True)
