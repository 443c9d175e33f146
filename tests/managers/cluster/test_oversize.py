"""A cluster, or an object of one, beyond the size limit of the caches: reported, unchanged."""

import copy
from typing import Any

import pytest

from baoctl.controllers.caches import OF_CHILDREN
from contracts.api.backup import InvalidBackupError, OpenBaoBackup
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import BACKUPS, CLUSTERS, RESTORES, TENANTS
from contracts.api.restore import InvalidRestoreError, OpenBaoRestore
from contracts.api.tenant import InvalidTenantError, OpenBaoTenant
from contracts.api.violation import InvalidClusterError
from contracts.datacenter.kinds import DATACENTERS
from contracts.datacenter.objects import Datacenter, InvalidDatacenterError
from contracts.naming import names
from contracts.owned_kinds import CHILDREN
from managers.cluster.observe.from_objects import CutObjectError
from managers.cluster.observe.pod_shape import without_container_details
from runtime.builtin_kinds import POD, SECRET, STATEFUL_SET
from runtime.cache.interning import sharing
from runtime.cache.selection import Selection
from runtime.limits.object_size import DEFAULT
from runtime.outcome import Blocked, Done, Outcome
from runtime.types import Object, ObjectKey, Resource
from tests import gen
from tests.managers.cluster.bench import KEY, STATUS, Bench, running_bench

LARGE = "x" * (DEFAULT.size + 1)
SHARE = sharing()


def cache_form(resource: Resource, obj: Object) -> Object:
    """The object as the cache of the operator stores it."""
    bounds = DEFAULT if resource == CLUSTERS else OF_CHILDREN
    transform = without_container_details if resource == POD else None
    fields = dict(CHILDREN).get(resource, ())
    return SHARE(Selection(resource, fields=fields, transform=transform, bounds=bounds).shape(obj))


async def turn(bench: Bench) -> Outcome:
    """One reconcile with caches as in the product."""
    bench.clusters.says(*(cache_form(CLUSTERS, obj) for obj in bench.api.of(CLUSTERS)))
    for kind, cache in bench.caches.items():
        cache.says(*(cache_form(kind, obj) for obj in bench.api.of(kind)))
    bench.api.calls.clear()
    return await bench.reconcile(KEY)


def is_unseal_key_orphaned(bench: Bench) -> bool:
    key = ObjectKey(gen.NAMESPACE, names.unseal_key_secret("x"))
    return not bench.api.objects[(SECRET, key)]["metadata"].get("ownerReferences")


def enlarge(bench: Bench) -> None:
    bench.ask_for(selfInit={"enabled": True, "requests": [{"name": "a", "data": {"text": LARGE}}]})


async def test_an_oversize_spec_is_reported_with_its_size_and_blocks(bench: Bench) -> None:
    before = bench.api.of(STATEFUL_SET)
    enlarge(bench)
    outcome = gen.expect(Blocked, await turn(bench))
    assert outcome.reason == "InvalidSpec"
    assert bench.writes == [STATUS]
    assert bench.condition("Stalled") == ("True", "InvalidSpec")
    conditions = str(bench.cluster["status"]["conditions"])
    assert f"(at most {DEFAULT.size}); make it smaller" in conditions
    assert bench.cluster["status"]["initialized"] is True
    assert bench.api.of(STATEFUL_SET) == before
    assert await turn(bench) == outcome
    assert bench.writes == []


async def test_a_new_oversize_cluster_is_never_reconciled() -> None:
    """The response to the write of the finalizer does not bypass the cache."""
    policy = {"path": "sys/policies/acl/a", "data": {"policy": LARGE}}
    request = {"name": "a", "operation": "update", **policy}
    large = {"enabled": True, "oidc": {"enabled": True}, "requests": [request]}
    bench = Bench(gen.cluster(selfInit=large))
    assert gen.expect(Blocked, await turn(bench)).reason == "InvalidSpec"
    assert not any("Secret" in call for call in bench.api.take_requests())


async def test_an_oversize_cluster_can_be_deleted_and_keeps_its_keys() -> None:
    bench = await running_bench(gen.cluster(deletionPolicy="DeleteAll"))
    enlarge(bench)
    bench.delete()
    assert await turn(bench) == Done()
    assert not any("delete" in write.lower() for write in bench.writes)
    assert names.FINALIZER not in (bench.api.of(CLUSTERS) or [{}])[0].get("metadata", {}).get(
        "finalizers", ()
    )
    assert is_unseal_key_orphaned(bench)


async def test_an_oversize_stateful_set_does_not_block_the_deletion(bench: Bench) -> None:
    child = copy.deepcopy(bench.api.of(STATEFUL_SET)[0])
    child["spec"]["text"] = LARGE
    bench.api.with_objects((STATEFUL_SET, child))
    bench.delete()
    assert await turn(bench) == Done()
    assert is_unseal_key_orphaned(bench)


async def test_an_oversize_status_is_not_overwritten(bench: Bench) -> None:
    filled = copy.deepcopy(bench.cluster)
    filled["status"]["phase"] = LARGE
    bench.api.with_objects((CLUSTERS, filled))
    outcome = gen.expect(Blocked, await turn(bench))
    assert "status: has" in outcome.message
    assert "--subresource=status" in outcome.message
    assert bench.writes == []
    assert ("Warning", "InvalidSpec", outcome.message) in await bench.outside.flush_events()


@pytest.mark.parametrize("kind", [POD, STATEFUL_SET], ids=lambda kind: str(kind.kind))
async def test_an_oversize_child_blocks_the_cluster(bench: Bench, kind: Resource) -> None:
    child = copy.deepcopy(bench.api.of(kind)[0])
    # A field that the cache keeps of both.
    child.setdefault("spec", {})["volumes"] = LARGE
    bench.api.with_objects((kind, child))
    with pytest.raises(CutObjectError, match=f"{child['metadata']['name']}: spec has"):
        await turn(bench)
    assert bench.writes == []


READERS: dict[str, tuple[Resource, Any, type[InvalidClusterError]]] = {
    "cluster": (CLUSTERS, OpenBaoCluster, InvalidClusterError),
    "backup": (BACKUPS, OpenBaoBackup, InvalidBackupError),
    "restore": (RESTORES, OpenBaoRestore, InvalidRestoreError),
    "tenant": (TENANTS, OpenBaoTenant, InvalidTenantError),
    "datacenter": (DATACENTERS, Datacenter, InvalidDatacenterError),
}


@pytest.mark.parametrize(("kind", "model", "error"), READERS.values(), ids=READERS)
@pytest.mark.parametrize("member", ["spec", "status"])
def test_no_kind_is_read_without_its_large_part(
    kind: Resource, model: Any, error: type[InvalidClusterError], member: str
) -> None:
    live = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "x"}}
    whole = {**live, "spec": {}, "status": {}, member: {"text": LARGE}}
    with pytest.raises(error, match=f"{member}: has .* bytes"):
        model.from_object(cache_form(CLUSTERS, whole))
