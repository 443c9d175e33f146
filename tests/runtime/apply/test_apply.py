"""runtime.apply.apply: which requests are sent, and the verdict of each response.

tests/integration/test_apply.py tests the same with a real API server.
"""

import copy
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from runtime.apply.apply import CREATE_ONLY, controller_uid
from runtime.apply.apply_cache import LONGEST_LIFE
from runtime.apply.intent import Intent, digest
from runtime.apply.ownership import OWNER_INDEX
from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.client import ApplyResult
from runtime.clock import yield_to_loop
from runtime.errors import (
    LeaseLost,
    ServerError,
    TerminalError,
    Transient,
    TransportError,
    status_error,
)
from runtime.types import Object, ObjectKey, Resource, annotations_of, uid_of
from runtime.verdict import Verdict
from tests.gen.api import FakeApi, api_error
from tests.runtime.apply_bench import KEY, MARKS, OTHER, OWNER, Bench, intent, owned_object


async def test_an_absent_object_is_created_with_its_annotations_and_without_force() -> None:
    bench = Bench()
    applied = await bench.ensure()
    assert applied.verdict is Verdict.CREATED
    assert applied.in_place
    sent = bench.api.body_of("apply ConfigMap c")
    assert sent["metadata"]["ownerReferences"] == [OWNER.reference()]
    assert annotations_of(sent) == {
        MARKS.owner_uid: "uid-1",
        MARKS.intent_hash: digest(intent().body),
    }
    assert "uid" not in sent["metadata"]
    assert sent["metadata"]["resourceVersion"] == CREATE_ONLY
    assert not bench.api.calls[-1].force
    assert bench.api.take_requests() == ["apply ConfigMap c"]


async def test_the_intent_is_not_changed() -> None:
    bench, expected = Bench(), intent()
    before = copy.deepcopy(expected.body)
    await bench.ensure(expected)
    assert expected.body == before


UPDATED, SKIPPED = Verdict.UPDATED, Verdict.SKIPPED
TAMPERED = {"k": "tampered"}


def edit_without_watch(bench: Bench) -> None:
    bench.edit(data=TAMPERED)
    bench.restart()


# name: (the change after the first ensure, the verdicts of the next ones)
AFTERWARDS: dict[str, tuple[Callable[[Bench], object], list[Verdict]]] = {
    "an unchanged intent is sent once": (lambda bench: None, [SKIPPED]),
    "an unchanged intent in a new process": (lambda bench: bench.restart(), [SKIPPED]),
    "a foreign edit": (lambda bench: bench.edit(data=TAMPERED), [UPDATED, SKIPPED, SKIPPED]),
    "a foreign edit while no process ran": (edit_without_watch, [UPDATED]),
    "a field of another manager": (
        lambda bench: bench.edit(data={"k": "v", "theirs": "x"}),
        [SKIPPED],
    ),
}


@pytest.mark.parametrize(("happens", "verdicts"), AFTERWARDS.values(), ids=AFTERWARDS)
async def test_t24_only_changes_are_sent_and_once(
    happens: Callable[[Bench], object], verdicts: list[Verdict]
) -> None:
    bench = Bench()
    await bench.ensure()
    assert uid_of(bench.caches[CONFIG_MAP].get(KEY) or {}) == "uid-c"
    happens(bench)
    bench.api.calls.clear()
    assert [(await bench.ensure()).verdict for _ in verdicts] == verdicts
    assert bench.api.take_requests() == ["apply ConfigMap c"] * verdicts.count(UPDATED)


async def test_an_object_of_one_owner_is_foreign_to_another() -> None:
    """Even if both have the same intent."""
    bench = Bench()
    await bench.ensure()
    bench.api.calls.clear()
    assert (await bench.ensure(owner=OTHER)).verdict is Verdict.FOREIGN
    assert bench.api.take_requests() == []


async def test_a_write_to_a_terminating_object_waits() -> None:
    class Deleting(FakeApi):
        def admitted(self, obj: Object) -> Object:
            metadata = {**obj["metadata"], "deletionTimestamp": "2030-01-01T00:00:00Z"}
            return {**obj, "metadata": metadata}

    bench = Bench(Deleting())
    await bench.ensure()
    assert (await bench.ensure()).verdict is Verdict.TERMINATING


async def test_another_intent_is_sent_with_force_and_the_uid() -> None:
    bench = Bench()
    await bench.ensure()
    bench.api.calls.clear()
    assert (await bench.ensure(intent(k="new"))).verdict is Verdict.UPDATED
    assert bench.api.body_of("apply ConfigMap c")["metadata"]["uid"] == "uid-c"
    assert bench.api.calls[-1].force
    assert bench.api.take_requests() == ["apply ConfigMap c"]


async def test_t24_an_intent_without_a_former_field_is_sent_once() -> None:
    """The live object contains the rest, so only the hash shows the difference."""
    bench = Bench()
    await bench.ensure(intent(k="v", old="x"))
    bench.api.calls.clear()
    verdicts = [(await bench.ensure(intent(k="v"))).verdict for _ in range(3)]
    assert verdicts == [UPDATED, SKIPPED, SKIPPED]
    assert bench.api.take_requests() == ["apply ConfigMap c"]


class Normalizing(FakeApi):
    """A server that stores a value in another form than it was sent, as with quantities."""

    def admitted(self, obj: Object) -> Object:
        return {**obj, "data": {key: value.upper() for key, value in obj["data"].items()}}


async def test_t24_a_value_that_the_server_normalizes_is_sent_once_per_process() -> None:
    bench = Bench(Normalizing())
    await bench.ensure()
    await bench.ensure()
    assert bench.api.take_requests() == ["apply ConfigMap c"]
    bench.restart()
    assert [(await bench.ensure()).verdict for _ in range(3)] == [UPDATED, SKIPPED, SKIPPED]
    assert bench.api.take_requests() == ["apply ConfigMap c"]


# name: (the live object, the verdict, the requests)
STANDING: dict[str, tuple[Object, Verdict, list[str]]] = {
    "an object of another owner is not changed": (owned_object(OTHER), Verdict.FOREIGN, []),
    "a terminating object is waited for": (
        owned_object(deletionTimestamp="2030-01-01T00:00:00Z"), Verdict.TERMINATING, [],
    ),
    "an object without owner is not changed": (
        owned_object(ownerReferences=[]), Verdict.FOREIGN, [],
    ),
    "an object that was annotated for adoption is adopted": (
        owned_object(ownerReferences=[], annotations={MARKS.adopt: "corner"}),
        Verdict.UPDATED,
        ["apply ConfigMap c"],
    ),
    "our incomplete object is completed after a crash": (
        owned_object(), Verdict.UPDATED, ["apply ConfigMap c"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("there", "verdict", "requests"), STANDING.values(), ids=STANDING.keys())
@pytest.mark.parametrize("selected", [True, False], ids=["in the cache", "not selected"])
async def test_existing_objects(
    there: Object, verdict: Verdict, requests: list[str], selected: bool
) -> None:
    bench = Bench(FakeApi().with_objects((CONFIG_MAP, there)))
    if not selected:
        bench.caches[CONFIG_MAP].says()
    applied = await bench.ensure()
    assert applied.verdict is verdict
    assert applied.live is not None
    refused = [] if selected else ["apply ConfigMap c", "peek ConfigMap c"]
    assert bench.api.take_requests() == [*refused, *requests]
    if not applied.in_place:
        assert "ConfigMap ns/c" in applied.message
        assert bench.api.objects[(CONFIG_MAP, KEY)]["data"] == {"k": "v"}


async def test_the_message_of_a_conflict_names_object_and_owner() -> None:
    bench = Bench(FakeApi().with_objects((CONFIG_MAP, owned_object(OTHER))))
    message = (await bench.ensure()).message
    assert message == "ConfigMap ns/c exists and belongs to Shop other (uid uid-2)"


async def test_an_object_that_is_created_meanwhile_is_not_changed() -> None:
    class Sneaky(FakeApi):
        async def get(
            self, resource: Resource, key: ObjectKey, *, metadata_only: bool = False
        ) -> Object:
            try:
                return await super().get(resource, key, metadata_only=metadata_only)
            finally:
                if (resource, key) not in self.objects:
                    self.with_objects((CONFIG_MAP, owned_object(OTHER, uid="theirs")))

    bench = Bench(Sneaky())
    bench.api.refuse("apply ConfigMap c", refusal(409, "Conflict"))
    with pytest.raises(Transient, match="ConfigMap ns/c changed while it was written"):
        await bench.ensure()
    there = copy.deepcopy(bench.api.objects)
    assert bench.api.take_requests() == [
        "apply ConfigMap c",
        "peek ConfigMap c",
        "apply ConfigMap c",
    ]
    assert (await bench.ensure()).verdict is Verdict.FOREIGN
    assert bench.api.objects == there


async def test_a_server_that_merges_a_create_only_apply_is_an_error() -> None:
    class Merging(FakeApi):
        async def apply(self, *args: Any, **options: Any) -> ApplyResult:
            return replace(await super().apply(*args, **options), created=False)

    with pytest.raises(TerminalError, match="may only create"):
        await Bench(Merging()).ensure()


def refusal(code: int, reason: str) -> Exception:
    return status_error({"code": code, "reason": reason, "message": "no"})


# name: (the response to the apply, the exception); the errors of the API are in test_refusals.
TROUBLES: dict[str, tuple[Exception, type[Exception]]] = {
    "another object with the name is read again": (refusal(409, "Conflict"), Transient),
    "a lost response is retried": (TransportError("reset"), TransportError),
    "a lost lease ends the apply": (LeaseLost("expired"), LeaseLost),
}


@pytest.mark.parametrize(("answer", "raised"), TROUBLES.values(), ids=TROUBLES.keys())
async def test_responses_that_raise(answer: Exception, raised: type[Exception]) -> None:
    bench = Bench()
    await bench.ensure()
    bench.api.refuse("apply ConfigMap c", answer)
    with pytest.raises(raised):
        await bench.ensure(intent(k="new"))
    assert (await bench.ensure(intent(k="new"))).verdict is Verdict.UPDATED


# name: (the change after the refusal, whether the apply is sent again)
AFTER_A_REFUSAL: dict[str, tuple[Callable[[Bench], object], Intent, bool]] = {
    "the same intent for the same object is not sent again": (
        lambda bench: bench.sync(), intent(k="bad"), False,
    ),
    "another intent is sent": (lambda bench: bench.sync(), intent(k="good"), True),
    "the same intent for a changed object is sent": (
        lambda bench: bench.edit(data={"k": "tampered"}), intent(k="bad"), True,
    ),
    "a new process sends the intent once": (lambda bench: bench.restart(), intent(k="bad"), True),
    "the intent is sent again after an hour": (
        lambda bench: bench.clock.advance(LONGEST_LIFE), intent(k="bad"), True,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("happens", "wish", "again"), AFTER_A_REFUSAL.values(), ids=AFTER_A_REFUSAL.keys()
)
async def test_a_refusal_is_remembered(
    happens: Callable[[Bench], object], wish: Intent, again: bool
) -> None:
    bench = Bench()
    await bench.ensure()
    bench.api.refuse("apply ConfigMap c", refusal(422, "Invalid"))
    refused = await bench.ensure(intent(k="bad"))
    bench.api.calls.clear()
    happening = happens(bench)
    if isinstance(happening, Awaitable):
        await happening
    applied = await bench.ensure(wish)
    assert bool(bench.api.take_requests()) is again
    if not again:
        assert applied.verdict is Verdict.REJECTED
        assert applied.message == refused.message


class Slow(FakeApi):
    """A server that is slow, except for errors."""

    async def apply(
        self,
        resource: Resource,
        body: Object,
        *,
        field_manager: str,
        force: bool,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> ApplyResult:
        for _ in range(10 if body["metadata"]["name"] != "a" else 0):
            await yield_to_loop()
        return await super().apply(resource, body, field_manager=field_manager, force=force)


async def test_one_failing_object_does_not_block_the_others() -> None:
    """The error is raised once the others are done: nothing continues in the background."""
    bench = Bench(Slow())
    bench.api.refuse("apply ConfigMap a", api_error(500))
    with pytest.raises(ServerError):
        await bench.owned.ensure_all(OWNER, [intent("a"), intent("b"), intent("c")])
    assert {key.name for _, key in bench.api.objects} == {"b", "c"}


async def test_results_are_in_the_order_of_the_intents() -> None:
    intents = [intent("b"), intent("a"), intent("c")]
    answers = await Bench().owned.ensure_all(OWNER, intents)
    assert [answer.intent for answer in answers] == intents


def test_children_are_found_by_the_uid_of_their_controller() -> None:
    bench = Bench(
        FakeApi().with_objects(
            (CONFIG_MAP, owned_object()), (CONFIG_MAP, owned_object(OTHER, name="d"))
        )
    )
    objects = bench.caches[CONFIG_MAP].by_index(OWNER_INDEX, "uid-2")
    assert [obj["metadata"]["name"] for obj in objects] == ["d"]
    assert list(controller_uid(owned_object(ownerReferences=[]))) == []
