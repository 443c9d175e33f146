"""An object of another owner with a name that a cluster needs is reported, and never changed."""

from collections.abc import Callable

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.harness.clusters import Cluster
from e2e.harness.installation import as_data
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.waiting import Stopwatch, throughout, until
from runtime.builtin_kinds import CONFIG_MAP, NETWORK_POLICY, SECRET, SERVICE, STATEFUL_SET
from runtime.types import Resource

# Objects that exist before the cluster: name of the cluster: (resource, name, content).
FOREIGN: dict[str, tuple[Resource, Callable[[str], str], Object]] = {
    "unseal": (SECRET, names.unseal_key_secret, {"data": {"key": as_data(b"0" * 32)}}),
    "authority": (SECRET, names.tls_ca_secret, {"data": {"ca.crt": as_data("theirs")}}),
    "config": (CONFIG_MAP, names.config_map, {"data": {"config.hcl": "theirs"}}),
    "service": (
        SERVICE,
        names.headless_service,
        {"spec": {"ports": [{"port": 1}], "selector": {"app": "theirs"}}},
    ),
    "policy": (NETWORK_POLICY, names.network_policy, {"spec": {"podSelector": {}}}),
}


@pytest.mark.timeout(400)
def test_objects_of_another_owner_are_reported_and_not_changed(
    api: Api, operator: Operator, namespace: str
) -> None:
    created = {}
    for name, (resource, name_of, body) in FOREIGN.items():
        metadata = {"name": name_of(name), "namespace": namespace}
        created[name] = api.create(resource, {"metadata": metadata, **body})
        api.create(CLUSTERS, manifest(namespace, name))
    clusters = [Cluster(api, namespace, name) for name in FOREIGN]
    for cluster in clusters:
        resource, name_of, _ = FOREIGN[cluster.name]
        condition = cluster.await_condition("Conflict", reason="ForeignObject", seconds=15.0)
        assert f"{resource.kind} " in condition["message"]
        assert name_of(cluster.name) in condition["message"]
        cluster.await_condition("Stalled", reason="ForeignObject", seconds=5.0)

    def changed_objects() -> list[str]:
        return [
            name
            for name, (resource, name_of, _) in FOREIGN.items()
            if api.get(resource, namespace, name_of(name)) != created[name]
        ]

    def stateful_sets() -> list[Object]:
        return api.list(STATEFUL_SET, namespace)

    throughout(
        "the objects are unchanged, and there is no StatefulSet",
        lambda: not changed_objects() and not stateful_sets(),
        3.0,
    )
    # One of them is enough to see that a cluster starts when its name is free.
    first, *others = clusters
    for cluster in others:
        api.delete(CLUSTERS, namespace, cluster.name)
    until("the other objects are gone", lambda: not any(other.find() for other in others), 30.0)
    assert not changed_objects()
    watch = Stopwatch()
    resource, name_of, _ = FOREIGN[first.name]
    api.delete(resource, namespace, name_of(first.name))
    first.await_available(60.0)
    first.await_condition("Conflict", "False", seconds=5.0)
    print(f"\n{first.name} is Available {watch.seconds:.1f} s after the deletion")
