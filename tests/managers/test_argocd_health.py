"""The health checks of deploy/argocd, run with Lua 5.1, on statuses that the operator computes."""

from typing import Any, get_args

import pytest
import yaml
from lupa.lua51 import LuaRuntime

from contracts.api.backup import BackupPhase
from contracts.api.group import BACKUPS, CLUSTERS, GROUP, RESTORES, TENANTS
from contracts.api.restore import RestorePhase
from contracts.datacenter.kinds import DATACENTERS
from managers.cluster.status.cluster_status import failing
from managers.datacenter import status as datacenter
from managers.tenancy import status as tenancy
from runtime.outcome import Blocked, Outcome, Wait
from runtime.types import Object
from tests import gen
from tests.house.checkout import ROOT
from tests.managers.cluster.passes import status_of

CHECKS = yaml.safe_load((ROOT / "deploy" / "argocd" / "argocd-cm.yaml").read_text())["data"]
PREFIX = f"resource.customizations.health.{GROUP}_"
CLUSTER = gen.cluster().initialized()
FINE = gen.running(CLUSTER)
LEADER, SECOND, THIRD = FINE.pods
STOPPED = FINE.with_pods().with_set(gen.stateful_set().with_replicas(0))
ASLEEP = CLUSTER.with_spec(hibernate=True)


def health(kind: str, live: Object) -> tuple[str, str]:
    """Return status and message as Argo CD gets them."""
    lua = LuaRuntime(unpack_returned_tuples=True)
    lua.globals()["obj"] = lua.table_from(live, recursive=True)
    table: Any = lua.execute(CHECKS[PREFIX + kind])
    return table["status"], table["message"]


def stored(generation: int, status: Object) -> Object:
    return {"metadata": {"name": "x", "generation": generation}, "status": status}


# sentence: (cluster, its world, outcome of the reconcile, health)
CASES: dict[str, tuple[gen.Cluster, gen.World, Outcome | None, str]] = {
    "all servers are ready": (CLUSTER, FINE, None, "Healthy"),
    "a rollout": (CLUSTER, FINE, Wait("RollingOut", "1 of 3"), "Progressing"),
    "a user has to act": (CLUSTER, FINE, Blocked("UnsealKeyMissing", "it is gone"), "Degraded"),
    "a server is down": (CLUSTER, FINE.with_pods(LEADER, SECOND), None, "Degraded"),
    "no leader": (
        CLUSTER, FINE.with_pods(LEADER.with_server_labels(active="false"), SECOND, THIRD),
        None, "Degraded",
    ),
    "paused": (CLUSTER.with_spec(paused=True), FINE, None, "Suspended"),
    "hibernated": (ASLEEP, STOPPED, None, "Suspended"),
    "hibernated without its key": (
        ASLEEP, STOPPED, Blocked("UnsealKeyMissing", "it is gone"), "Degraded"
    ),
    "the first boot": (gen.cluster(), gen.world(), Wait("FirstBoot", "it boots"), "Progressing"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_health_of_a_cluster_is_that_of_its_conditions(name: str) -> None:
    cluster, world, outcome, expected = CASES[name]
    status = status_of(cluster, world, outcome).to_object()
    status_of_argo, message = health(CLUSTERS.kind, stored(status["observedGeneration"], status))
    assert status_of_argo == expected
    assert message


def test_a_cluster_that_cannot_be_reconciled_progresses() -> None:
    status = failing(CLUSTER.read(), "500", gen.NOW).to_object()
    generation = CLUSTER.read().metadata.generation
    live = stored(generation, {**status, "observedGeneration": generation})
    assert health(CLUSTERS.kind, live) == ("Progressing", "500")


@pytest.mark.parametrize("kind", [CLUSTERS.kind, TENANTS.kind, DATACENTERS.kind])
@pytest.mark.parametrize("stale", [{}, {"observedGeneration": 1}])
def test_an_unobserved_spec_progresses(kind: str, stale: Object) -> None:
    assert health(kind, stored(2, stale))[0] == "Progressing"
    assert health(kind, {"metadata": {"generation": 2}})[0] == "Progressing"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("Provisioned", "Healthy"),
        ("Provisioning", "Progressing"),
        ("SecurityViolation", "Degraded"),
        ("Conflict", "Degraded"),
    ],
)
def test_the_health_of_a_tenant(reason: str, expected: str) -> None:
    finding = tenancy.ProvisionedCondition(reason == "Provisioned", reason, "as it is")
    live = stored(3, {})
    status = tenancy.compute(live, finding, gen.NOW, "watch").to_object()
    assert health(TENANTS.kind, {**live, "status": status}) == (expected, "as it is")


@pytest.mark.parametrize(
    ("status", "reason", "expected"),
    [
        ("True", "AllRunning", "Healthy"),
        ("False", "ServicesNotRunning", "Progressing"),
        ("False", "ServicesFailed", "Degraded"),
        ("False", "InvalidSpec", "Degraded"),
        ("False", "Maintenance", "Suspended"),
        ("Unknown", "Offline", "Suspended"),
    ],
)
def test_the_health_of_a_datacenter(status: Any, reason: str, expected: str) -> None:
    live = stored(3, {})
    summary = datacenter.DatacenterSummary(
        datacenter.DatacenterCondition(status, reason, "as it is")
    )
    body = datacenter.compute(live, summary, gen.NOW).to_object()
    assert health(DATACENTERS.kind, {**live, "status": body}) == (expected, "as it is")


@pytest.mark.parametrize("kind", [BACKUPS.kind, RESTORES.kind])
def test_the_health_of_a_backup_and_of_a_restore_is_that_of_its_phase(kind: str) -> None:
    phases = {*get_args(BackupPhase), *get_args(RestorePhase)}
    healths = {
        phase: health(kind, stored(1, {"phase": phase, "message": "so"})) for phase in phases
    }
    ended = {"Completed": "Healthy", "Failed": "Degraded", "Unknown": "Degraded"}
    assert healths == {phase: (ended.get(phase, "Progressing"), "so") for phase in phases}
    assert health(kind, {"metadata": {}}) == ("Progressing", "")


def test_every_check_is_of_a_kind_of_the_operator() -> None:
    kinds = {CLUSTERS, TENANTS, DATACENTERS, BACKUPS, RESTORES}
    assert CHECKS.keys() == {PREFIX + kind.kind for kind in kinds}
