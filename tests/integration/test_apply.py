"""Owned apply against a real API server: who wins, what is sent, and what is left behind."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from runtime.applied import Verdict
from runtime.apply import OwnedApply
from runtime.client import Client
from runtime.credentials import KubeconfigCredentials
from runtime.errors import NotFound, Transient
from runtime.intent import Intent
from runtime.metrics import Metrics
from runtime.resources import CONFIG_MAP, STATEFUL_SET
from runtime.types import Object, resource_version_of, uid_of
from tests.gen.api import StillInformer
from tests.integration.owned import LABELS, MANAGER, MARKS, Bench, operating


@pytest_asyncio.fixture
async def bench(
    credentials: KubeconfigCredentials, client: Client, namespace: str
) -> AsyncIterator[Bench]:
    async with operating(credentials, client, namespace) as made:
        yield made


def managers(live: Object) -> list[str]:
    return [entry["manager"] for entry in live["metadata"]["managedFields"]]


async def test_an_object_is_made_once_and_then_costs_nothing(bench: Bench) -> None:
    first = await bench.ensure()
    assert first.verdict is Verdict.CREATED
    live = await bench.live()
    assert live["metadata"]["ownerReferences"] == [bench.owner.reference()]
    assert live["metadata"]["annotations"][MARKS.owner_uid] == "1"
    assert managers(live) == [MANAGER]
    before = bench.requests
    assert [(await bench.ensure()).verdict for _ in range(3)] == [Verdict.SKIPPED] * 3
    assert bench.requests == before


async def test_a_new_process_costs_nothing(bench: Bench) -> None:
    created = await bench.ensure()
    assert created.live is not None
    await bench.seen(created.live)
    bench.restart()
    before = bench.requests
    assert (await bench.ensure()).verdict is Verdict.SKIPPED
    assert bench.requests == before


async def test_a_foreign_edit_costs_exactly_one_apply(bench: Bench) -> None:
    await bench.ensure()
    await bench.edit({**bench.intent().body, "data": {"k": "tampered"}})
    before = bench.requests
    repaired = await bench.ensure()
    assert repaired.verdict is Verdict.UPDATED
    assert (await bench.ensure()).verdict is Verdict.SKIPPED
    assert bench.requests == before + 1
    assert (await bench.live())["data"] == {"k": "v"}


async def test_a_field_of_somebody_else_costs_nothing_and_stays(bench: Bench) -> None:
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


async def test_a_field_that_is_no_longer_wanted_goes(bench: Bench) -> None:
    await bench.ensure(bench.intent(k="v", old="x"))
    assert (await bench.ensure(bench.intent(k="v"))).verdict is Verdict.UPDATED
    assert (await bench.live())["data"] == {"k": "v"}


async def test_an_object_of_another_owner_is_left_alone(bench: Bench) -> None:
    await bench.ensure()
    before = await bench.live()
    applied = await bench.ensure(bench.intent(k="mine now"), uid="2")
    assert applied.verdict is Verdict.FOREIGN
    assert "Shop corner (uid 1)" in applied.message
    assert await bench.live() == before


async def test_an_object_that_nobody_labelled_is_found_all_the_same(bench: Bench) -> None:
    """The caches select by our label; absence from them is not absence."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
    body["metadata"] = {"name": "c", "namespace": bench.namespace}
    before = await bench.client.create(CONFIG_MAP, body, field_manager="somebody")
    assert (await bench.ensure()).verdict is Verdict.FOREIGN
    assert await bench.live() == before


async def test_an_object_that_appears_between_look_and_write_gets_its_fields_back(
    bench: Bench,
) -> None:
    theirs = {"name": "c", "namespace": bench.namespace, "labels": {"theirs": "x"}}
    bench.client.meanwhile = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": theirs,
        "data": {"theirs": "x"},
    }
    applied = await bench.ensure()
    assert applied.verdict is Verdict.FOREIGN
    live = await bench.live()
    assert live["data"] == {"theirs": "x"}
    assert live["metadata"]["labels"] == {"theirs": "x"}
    assert "ownerReferences" not in live["metadata"]
    assert "annotations" not in live["metadata"]
    assert managers(live) == ["somebody"]


async def test_a_field_that_both_want_is_theirs_when_the_object_appears_meanwhile(
    bench: Bench,
) -> None:
    metadata = {"name": "c", "namespace": bench.namespace}
    bench.client.meanwhile = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"k": "theirs"},
    }
    applied = await bench.ensure()
    assert applied.verdict is Verdict.FOREIGN
    live = await bench.live()
    assert live["data"] == {"k": "theirs"}
    assert managers(live) == ["somebody"]


async def test_an_object_that_is_handed_over_becomes_ours(bench: Bench) -> None:
    metadata = {
        "name": "c",
        "namespace": bench.namespace,
        "annotations": {MARKS.adopt: "corner"},
    }
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}
    await bench.client.create(CONFIG_MAP, body, field_manager="somebody")
    assert (await bench.ensure()).verdict is Verdict.UPDATED
    live = await bench.live()
    assert live["metadata"]["ownerReferences"] == [bench.owner.reference()]
    assert live["data"] == {"a": "b", "k": "v"}


async def test_an_object_that_is_going_away_is_waited_for(bench: Bench) -> None:
    created = await bench.ensure()
    assert created.live is not None
    held = await bench.client.json_patch(
        CONFIG_MAP,
        bench.intent().key,
        [{"op": "add", "path": "/metadata/finalizers", "value": ["example.com/hold"]}],
    )
    await bench.client.delete(CONFIG_MAP, bench.intent().key, uid=uid_of(held))
    going = await bench.live()
    await bench.seen(going)
    before = bench.requests
    assert (await bench.ensure(bench.intent(k="new"))).verdict is Verdict.TERMINATING
    assert bench.requests == before
    assert await bench.live() == going


async def test_a_successor_of_the_name_is_not_written_by_mistake(bench: Bench) -> None:
    created = await bench.ensure()
    assert created.live is not None
    stale = StillInformer(CONFIG_MAP)
    stale.says(created.live)
    owned = OwnedApply(
        bench.client, {CONFIG_MAP: stale}, field_manager=MANAGER, marks=MARKS, metrics=Metrics()
    )
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


async def test_a_refusal_is_a_verdict_and_is_asked_for_once(bench: Bench) -> None:
    frozen = bench.intent()
    frozen.body["immutable"] = True
    await bench.ensure(frozen)
    before = bench.requests
    changed = Intent(CONFIG_MAP, {**frozen.body, "data": {"k": "new"}})
    for _ in range(3):
        applied = await bench.ensure(changed)
        assert applied.verdict is Verdict.REJECTED
        assert "immutable" in applied.message
    assert bench.requests == before + 1
    assert (await bench.live())["data"] == {"k": "v"}


class TestPruning:
    async def test_what_is_not_named_goes_and_nothing_else(self, bench: Bench) -> None:
        kept, gone = bench.intent("kept"), bench.intent("gone")
        for intent in (kept, gone):
            created = await bench.ensure(intent)
            assert created.live is not None
            await bench.seen(created.live)
        theirs = await bench.ensure(bench.intent("theirs"), uid="2")
        assert theirs.live is not None
        await bench.seen(theirs.live)
        pruned = await bench.owned.prune(bench.owner, [CONFIG_MAP], {(CONFIG_MAP, kept.key)})
        assert pruned == (gone.key,)
        with pytest.raises(NotFound):
            await bench.live("gone")
        assert await bench.live("kept")
        assert await bench.live("theirs")

    async def test_what_changed_since_it_was_seen_stays(self, bench: Bench) -> None:
        created = await bench.ensure()
        assert created.live is not None
        stale = StillInformer(CONFIG_MAP)
        owned = OwnedApply(
            bench.client, {CONFIG_MAP: stale}, field_manager=MANAGER, marks=MARKS, metrics=Metrics()
        )
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


async def test_a_value_that_the_server_writes_in_another_form_is_sent_once(bench: Bench) -> None:
    wanted = stateful_set(bench.namespace, "1000m")
    created = await bench.ensure(wanted)
    assert created.live is not None
    stored = created.live["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert stored == {"requests": {"cpu": "1"}}
    before = bench.requests
    assert (await bench.ensure(wanted)).verdict is Verdict.SKIPPED
    assert bench.requests == before
    # A new process cannot know that both mean the same, asks once, and changes nothing by it.
    await bench.seen(created.live, STATEFUL_SET)
    bench.restart()
    await bench.ensure(wanted)
    await bench.ensure(wanted)
    assert bench.requests == before + 1
    live = await bench.live("s", STATEFUL_SET)
    assert resource_version_of(live) == resource_version_of(created.live)


async def test_a_status_of_another_writer_costs_nothing(bench: Bench) -> None:
    wanted = stateful_set(bench.namespace, "1")
    await bench.ensure(wanted)
    body: dict[str, Any] = {
        **{key: wanted.body[key] for key in ("apiVersion", "kind")},
        "metadata": {"name": "s", "namespace": bench.namespace},
        "status": {"replicas": 1, "observedGeneration": 1},
    }
    result = await bench.client.apply(
        STATEFUL_SET, body, field_manager="controller", force=True, subresource="status"
    )
    await bench.seen(result.object, STATEFUL_SET)
    before = bench.requests
    assert (await bench.ensure(wanted)).verdict is Verdict.SKIPPED
    assert bench.requests == before


async def test_many_at_once_and_one_that_is_refused(bench: Bench) -> None:
    wanted = [bench.intent(f"c-{n}") for n in range(20)]
    wanted[7].body["data"]["not/a/key"] = "x"
    answers = await bench.owned.ensure_all(bench.owner, wanted)
    assert [a.intent for a in answers] == wanted
    assert answers[7].verdict is Verdict.REJECTED
    assert all(a.verdict is Verdict.CREATED for n, a in enumerate(answers) if n != 7)
