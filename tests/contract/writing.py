"""Cases about create, update, patch and delete."""

from dataclasses import replace

from runtime.builtin_kinds import CONFIG_MAP, NAMESPACE, STATEFUL_SET
from runtime.errors import AlreadyExists, Conflict, Invalid, NotFound, PatchFailed
from runtime.types import ObjectKey, is_terminating, uid_of
from tests.contract.bench import Bench, managers, number, refusal_of, rv

FINALIZER = "example.com/hold"


async def case_a_new_object_has_the_metadata_of_the_server(bench: Bench) -> None:
    config_map = await bench.create(k="v")
    metadata = config_map["metadata"]
    assert metadata.keys() == {
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "managedFields",
    }
    assert config_map["kind"] == "ConfigMap"
    assert list(managers(config_map)) == ["creator Update"]
    assert await bench.live() == config_map


async def case_a_name_can_be_generated(bench: Bench) -> None:
    body = bench.config_map()
    body["metadata"] = {"generateName": "gen-", "namespace": bench.namespace}
    config_map = await bench.client.create(CONFIG_MAP, body, field_manager="me")
    name = config_map["metadata"]["name"]
    assert name.startswith("gen-")
    assert len(name) == len("gen-") + 5
    assert config_map["metadata"]["generateName"] == "gen-"


async def case_a_name_is_unique(bench: Bench) -> None:
    await bench.create()
    error = await refusal_of(bench.create())
    assert isinstance(error, AlreadyExists)
    assert error.message == 'configmaps "a" already exists'


async def case_an_update_needs_the_current_version(bench: Bench) -> None:
    config_map = await bench.create(k="1")
    changed = await bench.client.update(CONFIG_MAP, {**config_map, "data": {"k": "2"}})
    assert number(changed) > number(config_map)
    assert uid_of(changed) == uid_of(config_map)
    error = await refusal_of(bench.client.update(CONFIG_MAP, {**config_map, "data": {"k": "3"}}))
    assert type(error) is Conflict
    assert "the object has been modified" in error.message
    assert (await bench.live())["data"] == {"k": "2"}


async def case_an_update_that_changes_nothing_is_not_written(bench: Bench) -> None:
    config_map = await bench.create(k="1")
    assert rv(await bench.client.update(CONFIG_MAP, config_map)) == rv(config_map)


async def case_an_update_of_a_missing_object(bench: Bench) -> None:
    body = bench.config_map()
    body["metadata"]["resourceVersion"] = "5"
    error = await refusal_of(bench.client.update(CONFIG_MAP, body))
    assert error.code in (404, 409), error


async def case_a_json_patch_is_atomic(bench: Bench) -> None:
    config_map = await bench.create(k="1")
    ops = [
        {"op": "replace", "path": "/data/k", "value": "2"},
        {"op": "test", "path": "/metadata/uid", "value": "another"},
    ]
    error = await refusal_of(bench.patch(ops))
    assert error.code == 422, error
    assert error.reason == "Invalid"
    assert await bench.live() == config_map
    ops[1]["value"] = uid_of(config_map)
    ops.append({"op": "add", "path": "/data/l", "value": "3"})
    assert (await bench.patch(ops))["data"] == {"k": "2", "l": "3"}


async def case_a_json_patch_of_a_missing_path(bench: Bench) -> None:
    await bench.create(k="1")
    error = await refusal_of(bench.patch([{"op": "remove", "path": "/data/other"}]))
    assert error.code == 422, error


async def case_a_json_patch_may_test_for_absence(bench: Bench) -> None:
    await bench.create(k="1")
    nothing = {"op": "test", "path": "/metadata/finalizers", "value": None}
    held = {"op": "add", "path": "/metadata/finalizers", "value": ["example.com/held"]}
    assert (await bench.patch([nothing, held]))["metadata"]["finalizers"] == ["example.com/held"]
    error = await refusal_of(bench.patch([nothing, held]))
    assert isinstance(error, PatchFailed), error
    await bench.patch([{"op": "remove", "path": "/metadata/finalizers/0"}])


async def case_a_json_patch_may_test_the_version(bench: Bench) -> None:
    config_map = await bench.create(k="1")
    path = "/metadata/resourceVersion"
    changed = await bench.patch(
        [
            {"op": "replace", "path": path, "value": rv(config_map)},
            {"op": "replace", "path": "/data/k", "value": "2"},
        ]
    )
    assert number(changed) > number(config_map)
    error = await refusal_of(
        bench.patch(
            [
                {"op": "replace", "path": path, "value": rv(config_map)},
                {"op": "replace", "path": "/data/k", "value": "3"},
            ]
        )
    )
    assert type(error) is Conflict


async def case_a_delete_has_preconditions(bench: Bench) -> None:
    config_map = await bench.create()
    client, key = bench.client, bench.key()
    error = await refusal_of(client.delete(CONFIG_MAP, key, uid="another"))
    assert type(error) is Conflict
    assert "the UID in the precondition (another) does not match" in error.message
    error = await refusal_of(
        client.delete(CONFIG_MAP, key, uid=uid_of(config_map), resource_version="1")
    )
    assert type(error) is Conflict
    await client.delete(CONFIG_MAP, key, uid=uid_of(config_map), resource_version=rv(config_map))
    error = await refusal_of(client.delete(CONFIG_MAP, key, uid=uid_of(config_map)))
    assert isinstance(error, NotFound)
    again = await bench.create()
    assert uid_of(again) != uid_of(config_map)


async def case_a_finalizer_delays_the_deletion(bench: Bench) -> None:
    body = bench.config_map()
    body["metadata"]["finalizers"] = [FINALIZER]
    config_map = await bench.client.create(CONFIG_MAP, body, field_manager="me")
    await bench.client.delete(CONFIG_MAP, bench.key(), uid=uid_of(config_map))
    kept = await bench.live()
    assert is_terminating(kept)
    assert kept["metadata"]["deletionGracePeriodSeconds"] == 0
    assert number(kept) > number(config_map)
    await bench.client.delete(CONFIG_MAP, bench.key(), uid=uid_of(config_map))
    assert await bench.live() == kept
    error = await refusal_of(
        bench.patch([{"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/more"}])
    )
    assert isinstance(error, Invalid)
    await bench.patch([{"op": "remove", "path": "/metadata/finalizers/0"}])
    assert isinstance(await refusal_of(bench.live()), NotFound)
    events = await bench.watched(2, resourceVersion=rv(config_map))
    assert [event.word for event in events] == ["MODIFIED a", "DELETED a"]
    assert is_terminating(events[0].object)
    assert number(events[1].object) > number(kept)


async def case_a_foreground_deletion_waits_for_the_collector(bench: Bench) -> None:
    config_map = await bench.create()
    await bench.client.delete(
        CONFIG_MAP, bench.key(), uid=uid_of(config_map), propagation="Foreground"
    )
    kept = await bench.live()
    assert is_terminating(kept)
    assert kept["metadata"]["finalizers"] == ["foregroundDeletion"]


async def case_status_and_spec_are_written_separately(bench: Bench) -> None:
    client = bench.client
    stateful_set = await client.create(STATEFUL_SET, bench.stateful_set(), field_manager="me")
    assert stateful_set["metadata"]["generation"] == 1
    status = {"replicas": 3, "observedGeneration": 1}
    ignored = await client.update(STATEFUL_SET, {**stateful_set, "status": status})
    assert rv(ignored) == rv(stateful_set)
    written = await client.update(
        STATEFUL_SET, {**stateful_set, "status": status, "spec": {}}, subresource="status"
    )
    assert written["status"]["replicas"] == 3
    assert written["spec"] == stateful_set["spec"]
    assert written["metadata"]["generation"] == 1
    assert number(written) > number(stateful_set)
    scaled = await client.update(
        STATEFUL_SET, {**written, "spec": {**written["spec"], "replicas": 5}}
    )
    assert scaled["metadata"]["generation"] == 2
    assert scaled["status"]["replicas"] == 3
    labeled = await client.update(
        STATEFUL_SET, {**scaled, "metadata": {**scaled["metadata"], "labels": {"a": "b"}}}
    )
    assert labeled["metadata"]["generation"] == 2


async def case_a_kind_without_status_has_no_status_subresource(bench: Bench) -> None:
    config_map = await bench.create()
    error = await refusal_of(bench.client.update(CONFIG_MAP, config_map, subresource="status"))
    assert isinstance(error, NotFound)


async def case_a_terminating_namespace_accepts_no_new_objects(bench: Bench) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "going-"}}
    namespace = await bench.client.create(NAMESPACE, body, field_manager="me")
    name = namespace["metadata"]["name"]
    await bench.client.delete(NAMESPACE, ObjectKey("", name), uid=uid_of(namespace))
    error = await refusal_of(replace(bench, namespace=name).create())
    assert type(error).__name__ == "NamespaceTerminating", error
    left = await bench.client.get(NAMESPACE, ObjectKey("", name))
    assert left["status"]["phase"] == "Terminating"


async def case_updates_take_over_the_fields_that_they_change(bench: Bench) -> None:
    await bench.create(k="1", l="1")
    changed = await bench.patch([{"op": "replace", "path": "/data/k", "value": "2"}])
    owned = managers(changed)
    assert owned["patcher Update"] == {"f:data": {"f:k": {}}}
    assert owned["creator Update"]["f:data"].keys() - {"."} == {"f:l"}
    removed = await bench.patch([{"op": "remove", "path": "/data/k"}])
    assert list(managers(removed)) == ["creator Update"]
