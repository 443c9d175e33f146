"""Cases about server-side apply."""

from runtime.builtin_kinds import CONFIG_MAP, STATEFUL_SET
from runtime.client.client import ApplyResult
from runtime.client.codec import APPLY_PATCH, encode
from runtime.client.transport import HttpRequest
from runtime.errors import ApplyConflict, BadRequest, Conflict, NotFound
from runtime.types import Object, uid_of
from tests.contract.bench import Bench, managers, number, refusal_of, rv


async def _apply(bench: Bench, body: Object) -> ApplyResult:
    return await bench.client.apply(CONFIG_MAP, body, field_manager="me", force=False)


async def case_an_apply_creates_once_and_then_writes_nothing(bench: Bench) -> None:
    body = bench.config_map(k="v")
    first, second = await _apply(bench, body), await _apply(bench, body)
    assert (first.created, second.created) == (True, False)
    assert second.object == first.object
    assert managers(first.object) == {"me Apply": {"f:data": {"f:k": {}}}}


async def case_an_omitted_field_is_removed(bench: Bench) -> None:
    await bench.apply(bench.config_map(k="v", l="w"))
    left = await bench.apply(bench.config_map(k="v"))
    assert left["data"] == {"k": "v"}
    empty = bench.config_map()
    nothing = await bench.apply(empty)
    assert "data" not in nothing
    assert nothing["metadata"].get("managedFields", []) == []


async def case_a_field_shared_with_another_manager_is_kept(bench: Bench) -> None:
    await bench.apply(bench.config_map(k="v", l="w"))
    shared = await bench.apply(bench.config_map(k="v"), manager="you")
    assert managers(shared)["you Apply"] == {"f:data": {"f:k": {}}}
    left = await bench.apply(bench.config_map(m="x"))
    assert left["data"] == {"k": "v", "m": "x"}
    gone = await bench.apply(bench.config_map(n="y"), manager="you")
    assert gone["data"] == {"m": "x", "n": "y"}


async def case_a_conflict_names_fields_and_owners(bench: Bench) -> None:
    before = await bench.apply(bench.config_map(k="v", l="w"), manager="owner")
    error = await refusal_of(bench.apply(bench.config_map(k="x", l="w")))
    assert isinstance(error, ApplyConflict)
    assert error.reason == "Conflict"
    assert error.fields == (".data.k",)
    assert error.managers == ("owner",)
    assert error.causes[0].message == 'conflict with "owner"'
    assert error.message == 'Apply failed with 1 conflict: conflict with "owner": .data.k'
    error = await refusal_of(bench.apply(bench.config_map(k="x", l="y")))
    text = 'Apply failed with 2 conflicts: conflicts with "owner":\n- .data.k\n- .data.l'
    assert error.message == text
    assert await bench.live() == before


async def case_a_conflict_with_an_update_names_the_version(bench: Bench) -> None:
    await bench.create(k="v")
    error = await refusal_of(bench.apply(bench.config_map(k="x")))
    assert isinstance(error, ApplyConflict)
    assert error.causes[0].message == 'conflict with "creator" using v1'


async def case_force_takes_over_fields(bench: Bench) -> None:
    await bench.apply(bench.config_map(k="v", l="w"), manager="owner")
    taken = await bench.apply(bench.config_map(k="x"), force=True)
    assert taken["data"] == {"k": "x", "l": "w"}
    assert managers(taken) == {
        "me Apply": {"f:data": {"f:k": {}}},
        "owner Apply": {"f:data": {"f:l": {}}},
    }


async def case_an_update_takes_over_an_applied_field(bench: Bench) -> None:
    await bench.apply(bench.config_map(k="v", l="w"))
    changed = await bench.patch([{"op": "replace", "path": "/data/k", "value": "x"}])
    assert managers(changed) == {
        "me Apply": {"f:data": {"f:l": {}}},
        "patcher Update": {"f:data": {"f:k": {}}},
    }
    back = await bench.apply(bench.config_map(k="v", l="w"), force=True)
    assert managers(back) == {"me Apply": {"f:data": {"f:k": {}, "f:l": {}}}}


async def case_the_uid_of_an_apply_is_a_precondition(bench: Bench) -> None:
    config_map = await bench.apply(bench.config_map(k="v"))
    body = bench.config_map(k="w")
    body["metadata"]["uid"] = uid_of(config_map)
    assert (await bench.apply(body))["data"] == {"k": "w"}
    body["metadata"]["uid"] = "11111111-2222-3333-4444-555555555555"
    error = await refusal_of(bench.apply(body))
    assert type(error) is Conflict, error
    assert error.code == 422
    missing = bench.config_map("missing")
    missing["metadata"]["uid"] = uid_of(config_map)
    error = await refusal_of(bench.apply(missing))
    assert type(error) is Conflict, error
    assert error.code == 409


async def case_the_version_of_an_apply_is_a_precondition(bench: Bench) -> None:
    config_map = await bench.apply(bench.config_map(k="v"))
    body = bench.config_map(k="w")
    body["metadata"]["resourceVersion"] = rv(config_map)
    changed = await bench.apply(body)
    assert number(changed) > number(config_map)
    body["data"] = {"k": "x"}
    error = await refusal_of(bench.apply(body))
    assert type(error) is Conflict
    assert error.code == 409


async def case_an_apply_with_version_one_only_creates(bench: Bench) -> None:
    body = bench.config_map(k="v")
    body["metadata"]["resourceVersion"] = "1"
    live = await bench.apply(body)
    assert live["data"] == {"k": "v"}
    error = await refusal_of(bench.apply(body, force=True))
    assert type(error) is Conflict
    assert error.code == 409


async def case_a_dry_run_stores_nothing(bench: Bench) -> None:
    client = bench.client
    tried = await client.apply(
        CONFIG_MAP, bench.config_map(k="v"), field_manager="me", force=False, dry_run=True
    )
    assert tried.created
    assert isinstance(await refusal_of(bench.live()), NotFound)
    config_map = await bench.apply(bench.config_map(k="v"))
    tried = await client.apply(
        CONFIG_MAP, bench.config_map(k="w"), field_manager="me", force=False, dry_run=True
    )
    assert tried.object["data"] == {"k": "w"}
    assert await bench.live() == config_map


async def case_an_apply_needs_a_manager_and_no_managed_fields(bench: Bench) -> None:
    path = CONFIG_MAP.path(bench.namespace, "a")
    body = encode(bench.config_map(k="v"))
    error = await refusal_of(bench.send(HttpRequest("PATCH", path, {}, body, APPLY_PATCH)))
    assert error.code == 422, error
    config_map = await bench.apply(bench.config_map(k="v"))
    error = await refusal_of(bench.apply(config_map))
    assert isinstance(error, BadRequest)


async def case_items_of_an_associative_list_have_owners(bench: Bench) -> None:
    stateful_set = await bench.apply(bench.stateful_set())
    side = {"name": "side", "image": "example.com/side:1"}
    theirs: Object = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": stateful_set["metadata"] | {"managedFields": None},
        "spec": {"template": {"spec": {"containers": [side]}}},
    }
    theirs["metadata"] = {"name": "s", "namespace": bench.namespace}
    both = await bench.apply(theirs, manager="injector")
    containers = both["spec"]["template"]["spec"]["containers"]
    assert [container["name"] for container in containers] == ["main", "side"]
    assert both["metadata"]["generation"] == 2
    item = managers(both)["injector Apply"]["f:spec"]["f:template"]["f:spec"]["f:containers"]
    assert item == {'k:{"name":"side"}': {".": {}, "f:image": {}, "f:name": {}}}
    again = await bench.apply(bench.stateful_set())
    assert rv(again) == rv(both)
    theirs["spec"] = {}
    left = await bench.apply(theirs, manager="injector")
    containers = left["spec"]["template"]["spec"]["containers"]
    assert [container["name"] for container in containers] == ["main"]


async def case_status_is_applied_separately(bench: Bench) -> None:
    stateful_set = await bench.apply(bench.stateful_set())
    status: Object = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "s", "namespace": bench.namespace},
        "status": {"replicas": 2, "conditions": [{"type": "Fine", "status": "True"}]},
    }
    in_spec = await bench.client.apply(
        STATEFUL_SET, status | bench.stateful_set(), field_manager="me", force=False
    )
    assert rv(in_spec.object) == rv(stateful_set)
    done = await bench.client.apply(
        STATEFUL_SET, status, field_manager="me", force=False, subresource="status"
    )
    assert done.object["status"]["replicas"] == 2
    assert done.object["spec"] == stateful_set["spec"]
    assert done.object["metadata"]["generation"] == 1
    entries = done.object["metadata"]["managedFields"]
    assert sorted(entry.get("subresource", "") for entry in entries) == ["", "status"]
    again = await bench.client.apply(
        STATEFUL_SET, status, field_manager="me", force=False, subresource="status"
    )
    assert rv(again.object) == rv(done.object)


async def case_an_apply_of_the_status_of_a_missing_object_is_refused(bench: Bench) -> None:
    body = {**bench.stateful_set(), "status": {"replicas": 1}}
    error = await refusal_of(
        bench.client.apply(
            STATEFUL_SET, body, field_manager="me", force=False, subresource="status"
        )
    )
    assert isinstance(error, NotFound)


async def case_a_real_server_rejects_an_unknown_field(bench: Bench) -> None:
    body = {**bench.config_map(k="v"), "unknown": {"k": "v"}}
    if not bench.real:
        # The fake has no schemas, which is a known difference.
        return
    error = await refusal_of(bench.apply(body))
    assert error.code in (400, 500), error


async def case_finalizers_and_labels_are_owned_individually(bench: Bench) -> None:
    mine = bench.config_map()
    mine["metadata"] |= {"labels": {"a": "1"}, "finalizers": ["example.com/mine"]}
    await bench.apply(mine)
    yours = bench.config_map()
    yours["metadata"] |= {"labels": {"b": "2"}, "finalizers": ["example.com/yours"]}
    both = await bench.apply(yours, manager="you")
    assert both["metadata"]["labels"] == {"a": "1", "b": "2"}
    assert sorted(both["metadata"]["finalizers"]) == ["example.com/mine", "example.com/yours"]
    left = await bench.apply(bench.config_map())
    assert left["metadata"]["labels"] == {"b": "2"}
    assert left["metadata"]["finalizers"] == ["example.com/yours"]
    await bench.apply(bench.config_map(), manager="you")
