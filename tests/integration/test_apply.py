"""Owned apply on a real API server: conflicts, requests, and managed fields."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from runtime.apply.apply import CREATE_ONLY
from runtime.apply.intent import Intent
from runtime.builtin_kinds import (
    CONFIG_MAP,
    NETWORK_POLICY,
    ROLE,
    ROLE_BINDING,
    SERVICE,
    STATEFUL_SET,
)
from runtime.client.client import Client
from runtime.client.credentials import KubeconfigCredentials
from runtime.errors import Conflict, NotFound, Transient
from runtime.types import Object, ObjectKey, Resource, resource_version_of, uid_of
from runtime.verdict import Verdict
from tests.gen.api import StillInformer
from tests.integration.owned import LABELS, MANAGER, MARKS, Bench, owned_over, run_operator


@pytest_asyncio.fixture
async def bench(
    credentials: KubeconfigCredentials, client: Client, namespace: str
) -> AsyncIterator[Bench]:
    async with run_operator(credentials, client, namespace) as bench:
        yield bench


def managers(live: Object) -> list[str]:
    return [entry["manager"] for entry in live["metadata"]["managedFields"]]


async def test_t24_an_object_is_created_once_and_then_causes_no_requests(bench: Bench) -> None:
    first = await bench.ensure()
    assert first.verdict is Verdict.CREATED
    live = await bench.live()
    assert live["metadata"]["ownerReferences"] == [bench.owner.reference()]
    assert live["metadata"]["annotations"][MARKS.owner_uid] == "1"
    assert managers(live) == [MANAGER]
    before = bench.requests
    assert [(await bench.ensure()).verdict for _ in range(3)] == [Verdict.SKIPPED] * 3
    assert bench.requests == before


async def test_t24_a_foreign_edit_costs_exactly_one_apply(bench: Bench) -> None:
    await bench.ensure()
    await bench.edit({**bench.intent().body, "data": {"k": "tampered"}})
    before = bench.requests
    repaired = await bench.ensure()
    assert repaired.verdict is Verdict.UPDATED
    assert (await bench.ensure()).verdict is Verdict.SKIPPED
    assert bench.requests == before + 1
    assert (await bench.live())["data"] == {"k": "v"}


async def test_t24_a_field_of_another_manager_causes_no_requests_and_stays(bench: Bench) -> None:
    await bench.ensure()
    body = bench.intent().body
    metadata = {**body["metadata"], "labels": {"theirs": "x"}}
    await bench.edit({**body, "metadata": metadata, "data": {"theirs": "x"}})
    before = bench.requests
    assert (await bench.ensure()).verdict is Verdict.SKIPPED
    assert bench.requests == before
    await bench.ensure(bench.intent(k="new"))
    live = await bench.live()
    assert live["data"] == {"k": "new", "theirs": "x"}
    assert live["metadata"]["labels"]["theirs"] == "x"


async def test_t24_a_field_that_was_removed_is_deleted_with_one_apply(bench: Bench) -> None:
    await bench.ensure(bench.intent(k="v", old="x"))
    before = bench.requests
    assert (await bench.ensure(bench.intent(k="v"))).verdict is Verdict.UPDATED
    assert (await bench.ensure(bench.intent(k="v"))).verdict is Verdict.SKIPPED
    assert bench.requests == before + 1
    assert (await bench.live())["data"] == {"k": "v"}


@pytest.mark.parametrize("data", [{"theirs": "x"}, {"k": "theirs"}], ids=["other", "same field"])
async def test_an_object_that_appears_before_the_write_is_not_touched(
    bench: Bench, data: dict[str, str]
) -> None:
    theirs = {"name": "c", "namespace": bench.namespace, "labels": {"theirs": "x"}}
    bench.client.meanwhile = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": theirs,
        "data": data,
    }
    before = bench.requests
    assert (await bench.ensure()).verdict is Verdict.FOREIGN
    # The creation by the other client, a refused write, and a read.
    assert bench.requests == before + 3
    live = await bench.live()
    assert live["data"] == data
    assert live["metadata"]["labels"] == {"theirs": "x"}
    assert managers(live) == ["somebody"]
    assert (await bench.ensure()).verdict is Verdict.FOREIGN
    assert await bench.live() == live


SERVICE_PORT = {"port": 80, "protocol": "TCP"}
CREATED: dict[Resource, Object] = {
    CONFIG_MAP: {"data": {"k": "v"}},
    SERVICE: {"spec": {"ports": [SERVICE_PORT]}},
    ROLE_BINDING: {"roleRef": {"apiGroup": ROLE.group, "kind": "Role", "name": "r"}},
    NETWORK_POLICY: {"spec": {"podSelector": {}, "policyTypes": ["Ingress"]}},
}


@pytest.mark.parametrize(("resource", "content"), CREATED.items(), ids=[r.kind for r in CREATED])
@pytest.mark.parametrize("force", [False, True], ids=["polite", "forced"])
async def test_an_apply_that_may_only_create_never_merges(
    client: Client, namespace: str, resource: Resource, content: Object, force: bool
) -> None:
    """No object has this resourceVersion; the server checks it only for existing objects."""
    metadata = {"name": "x", "namespace": namespace, "resourceVersion": CREATE_ONLY}
    identity = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    body = {**identity, **content}
    first = await client.apply(resource, body, field_manager="one", force=force)
    assert first.created
    changed = {**body, "metadata": {**metadata, "labels": {"more": "x"}}}
    with pytest.raises(Conflict):
        await client.apply(resource, changed, field_manager="two", force=force)
    assert await client.get(resource, ObjectKey(namespace, "x")) == first.object


async def test_a_successor_of_the_name_is_not_written(bench: Bench) -> None:
    created = await bench.ensure()
    assert created.live is not None
    stale = StillInformer(CONFIG_MAP)
    stale.says(created.live)
    owned = owned_over(bench.client, {CONFIG_MAP: stale})
    await bench.client.delete(CONFIG_MAP, bench.intent().key, uid=uid_of(created.live))
    with pytest.raises(Transient):
        await owned.ensure(bench.owner, bench.intent(k="new"))
    with pytest.raises(NotFound):
        await bench.live()
    successor = await bench.client.create(
        CONFIG_MAP, {**bench.intent(k="theirs").body}, field_manager="somebody"
    )
    with pytest.raises(Transient):
        await owned.ensure(bench.owner, bench.intent(k="new"))
    assert await bench.live() == successor


async def test_t26_a_refusal_is_a_verdict_and_is_not_retried(bench: Bench) -> None:
    frozen = Intent(CONFIG_MAP, {**bench.intent().body, "immutable": True})
    await bench.ensure(frozen)
    before = bench.requests
    changed = Intent(CONFIG_MAP, {**frozen.body, "data": {"k": "new"}})
    for _ in range(3):
        applied = await bench.ensure(changed)
        assert applied.verdict is Verdict.REJECTED
        assert "immutable" in applied.message
    assert bench.requests == before + 1
    assert (await bench.live())["data"] == {"k": "v"}


async def test_an_object_that_changed_meanwhile_is_not_pruned(bench: Bench) -> None:
    created = await bench.ensure()
    assert created.live is not None
    stale = StillInformer(CONFIG_MAP)
    owned = owned_over(bench.client, {CONFIG_MAP: stale})
    stale.says(created.live)
    await bench.edit({**bench.intent().body, "data": {"theirs": "x"}})
    assert await owned.prune(bench.owner, [CONFIG_MAP], ()) == ()
    assert await bench.live()


def stateful_set(namespace: str, cpu: str) -> Intent:
    container = {"name": "a", "image": "a", "resources": {"requests": {"cpu": cpu}}}
    body = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "s", "namespace": namespace, "labels": LABELS},
        "spec": {
            "serviceName": "s",
            "replicas": 1,
            "selector": {"matchLabels": LABELS},
            "template": {"metadata": {"labels": LABELS}, "spec": {"containers": [container]}},
        },
    }
    return Intent(STATEFUL_SET, body)


@pytest.mark.parametrize(("cpu", "stored"), [("1000m", "1"), ("0.5", "500m"), ("+1", "1")])
async def test_t24_a_quantity_is_sent_as_it_is_stored(bench: Bench, cpu: str, stored: str) -> None:
    intent = stateful_set(bench.namespace, cpu)
    created = await bench.ensure(intent)
    assert created.live is not None
    resources = created.live["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert resources == {"requests": {"cpu": stored}}
    before = bench.requests
    await bench.await_cache(created.live, STATEFUL_SET)
    bench.restart()
    assert (await bench.ensure(intent)).verdict is Verdict.SKIPPED
    assert bench.requests == before


async def test_t24_a_value_that_the_server_writes_in_another_form_is_sent_once(
    bench: Bench,
) -> None:
    """A quantity with a finer unit than milli is rounded up."""
    intent = stateful_set(bench.namespace, "1500u")
    created = await bench.ensure(intent)
    assert created.live is not None
    stored = created.live["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert stored == {"requests": {"cpu": "2m"}}
    before = bench.requests
    assert (await bench.ensure(intent)).verdict is Verdict.SKIPPED
    assert bench.requests == before
    # A new process cannot know that both are equal: it applies once, which changes nothing.
    await bench.await_cache(created.live, STATEFUL_SET)
    bench.restart()
    await bench.ensure(intent)
    await bench.ensure(intent)
    assert bench.requests == before + 1
    live = await bench.live("s", STATEFUL_SET)
    assert resource_version_of(live) == resource_version_of(created.live)
