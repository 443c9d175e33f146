"""A service gets only the node access of its datacenter, and other services continue."""

from dataclasses import replace

from contracts.datacenter.grants import (
    NODE_ACCESS_DENIED,
    OBJECT_KIND_DENIED,
    NodeAccess,
    ObjectKind,
)
from managers.datacenter.lifecycle.permission import UNCHANGED
from tests.contracts.datacenter.services import cluster_role
from tests.managers.datacenter.bodies import IMAGE, service
from tests.managers.datacenter.service_bench import BUSY, DNS, FRA, Bench, StaticHook

_LOGS = {"name": "logs", "mountPath": "/logs", "kind": "HostPath", "host_path": "/var/log"}
SHIPPER = service(
    "shipper",
    kind="DaemonSet",
    run_as_user=0,
    services=({"name": "main", "image": IMAGE, "volumes": (_LOGS,)},),
)
OPEN = replace(FRA, node_access=NodeAccess(host_paths=("/var",), run_as_root=True))


async def test_a_service_without_node_access_fails_and_others_run(bench: Bench) -> None:
    for _ in range(3):
        await bench.run([SHIPPER, DNS])
    progress = (await bench.record()).progress
    assert await bench.states() == {"dns": "Running", "shipper": "Failed"}
    assert progress.failure is not None
    assert progress.failure.reason == NODE_ACCESS_DENIED
    assert "services[0].volumes[0].hostPath: must be at or below" in progress.message
    assert "runAsUser: must not be 0" in progress.message
    assert UNCHANGED not in progress.message
    # It counts as no attempt: nothing is retried until something changes.
    assert (progress.attempts, progress.next_retry) == (1, None)
    assert bench.provider.names_of("provision") == ["dns"]
    assert bench.events.count("shipper Failed") == 1


async def test_revoked_node_access_is_reported_and_changes_nothing(bench: Bench) -> None:
    await bench.run([SHIPPER], where=OPEN)
    calls = list(bench.provider.calls)
    await bench.run([SHIPPER])
    assert bench.provider.calls == calls
    progress = (await bench.record()).progress
    assert progress.state == "Failed"
    assert progress.message.endswith(UNCHANGED)
    await bench.run([SHIPPER], where=OPEN)
    assert await bench.states() == {"shipper": "Running"}
    # It can be removed without node access.
    await bench.run([])
    assert await bench.states() == {}
    assert bench.provider.workloads == {}


async def test_earlier_failures_are_counted_separately(bench: Bench) -> None:
    bench.provider.fail("provision shipper", BUSY)
    await bench.run([SHIPPER], where=OPEN)
    await bench.run([SHIPPER])
    failure = (await bench.record()).progress.failure
    assert failure is not None
    assert failure.reason == NODE_ACCESS_DENIED


ROLES = service("roles", kind="Objects", services=(), objects=(cluster_role(),))
KINDS = (ObjectKind(group="rbac.authorization.k8s.io", kind="ClusterRole"),)


async def test_a_kind_is_refused_until_it_is_allowed(bench: Bench) -> None:
    bench.registry.register(StaticHook("network", ROLES))
    await bench.run([DNS])
    assert await bench.states() == {"dns": "Running", "roles": "Failed"}
    failure = (await bench.record("roles")).progress.failure
    assert failure is not None
    assert failure.reason == OBJECT_KIND_DENIED
    assert bench.provider.names_of("provision") == ["dns"]
    await bench.run([DNS], where=replace(FRA, object_kinds=KINDS))
    assert await bench.states() == {"dns": "Running", "roles": "Running"}
