"""runtime.apply: what is sent, what is not, and what each answer becomes.

What the API server makes of it is asked of a real one in tests/integration/test_apply.py.
"""

import copy
from collections.abc import Callable

import pytest

from runtime.applied import Applied, Verdict
from runtime.apply import OWNER_INDEX, controller_uid, fingerprint
from runtime.client import ApplyResult
from runtime.clock import yield_to_loop
from runtime.errors import LeaseLost, ServerError, Transient, TransportError, status_error
from runtime.intent import Intent, digest
from runtime.resources import CONFIG_MAP
from runtime.types import Object, ObjectKey, Resource, annotations_of, uid_of
from tests.gen.api import FakeApi, api_error
from tests.runtime.apply_bench import KEY, MARKS, OTHER, OWNER, Bench, intent, owned


async def test_an_absent_object_is_made_with_its_marks_and_without_force() -> None:
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
    assert not bench.api.calls[-1].force
    assert bench.api.asked == ["peek ConfigMap c", "apply ConfigMap c"]


async def test_the_intent_itself_is_left_as_it_was() -> None:
    bench, wanted = Bench(), intent()
    before = copy.deepcopy(wanted.body)
    await bench.ensure(wanted)
    assert wanted.body == before


async def test_the_answer_is_in_the_cache_before_the_watch_tells() -> None:
    bench = Bench()
    await bench.ensure()
    assert uid_of(bench.caches[CONFIG_MAP].get(KEY) or {}) == "uid-c"
    bench.api.calls.clear()
    assert (await bench.ensure()).verdict is Verdict.SKIPPED
    assert bench.api.asked == []


async def test_a_new_process_sends_nothing_when_all_is_as_it_was_left() -> None:
    bench = Bench()
    await bench.ensure()
    bench.restart()
    bench.api.calls.clear()
    assert (await bench.ensure()).verdict is Verdict.SKIPPED
    assert bench.api.asked == []


async def test_a_new_process_repairs_what_was_changed_while_it_was_away() -> None:
    bench = Bench()
    await bench.ensure()
    bench.edit(data={"k": "tampered"})
    bench.restart()
    bench.api.calls.clear()
    assert (await bench.ensure()).verdict is Verdict.UPDATED
    assert bench.api.asked == ["apply ConfigMap c"]


async def test_another_intent_is_sent_with_force_and_the_uid() -> None:
    bench = Bench()
    await bench.ensure()
    bench.api.calls.clear()
    assert (await bench.ensure(intent(k="new"))).verdict is Verdict.UPDATED
    assert bench.api.body_of("apply ConfigMap c")["metadata"]["uid"] == "uid-c"
    assert bench.api.calls[-1].force
    assert bench.api.asked == ["apply ConfigMap c"]


async def test_an_intent_that_lost_a_field_is_sent() -> None:
    """The live object contains all that is left, and only the hash tells the difference."""
    bench = Bench()
    await bench.ensure(intent(k="v", old="x"))
    bench.api.calls.clear()
    assert (await bench.ensure(intent(k="v"))).verdict is Verdict.UPDATED


async def test_a_foreign_edit_costs_one_apply() -> None:
    bench = Bench()
    await bench.ensure()
    bench.edit(data={"k": "tampered"})
    bench.api.calls.clear()
    assert [(await bench.ensure()).verdict for _ in range(3)] == [
        Verdict.UPDATED,
        Verdict.SKIPPED,
        Verdict.SKIPPED,
    ]
    assert bench.api.asked == ["apply ConfigMap c"]


async def test_a_field_of_somebody_else_costs_nothing() -> None:
    bench = Bench()
    await bench.ensure()
    bench.edit(data={"k": "v", "theirs": "x"})
    bench.api.calls.clear()
    assert (await bench.ensure()).verdict is Verdict.SKIPPED
    assert bench.api.asked == []


class Normalizing(FakeApi):
    """A server that keeps a value in another form than it was sent, as quantities are."""

    def admitted(self, obj: Object) -> Object:
        return {**obj, "data": {key: value.upper() for key, value in obj["data"].items()}}


async def test_a_value_that_the_server_writes_in_another_form_is_sent_once() -> None:
    bench = Bench(Normalizing())
    await bench.ensure()
    await bench.ensure()
    assert bench.api.asked == ["peek ConfigMap c", "apply ConfigMap c"]


async def test_a_new_process_sends_such_a_value_once_more() -> None:
    bench = Bench(Normalizing())
    await bench.ensure()
    bench.restart()
    bench.api.calls.clear()
    assert [(await bench.ensure()).verdict for _ in range(3)] == [
        Verdict.UPDATED,
        Verdict.SKIPPED,
        Verdict.SKIPPED,
    ]
    assert bench.api.asked == ["apply ConfigMap c"]


# sentence: (what is there, the verdict, what was asked of the server)
STANDING: dict[str, tuple[Object, Verdict, list[str]]] = {
    "another owner's object is left alone": (owned(OTHER), Verdict.FOREIGN, []),
    "an object that is being deleted is waited for": (
        owned(deletionTimestamp="2030-01-01T00:00:00Z"),
        Verdict.TERMINATING,
        [],
    ),
    "nobody's object is left alone": (owned(ownerReferences=[]), Verdict.FOREIGN, []),
    "an object that was handed over is taken": (
        owned(ownerReferences=[], annotations={MARKS.adopt: "corner"}),
        Verdict.UPDATED,
        ["apply ConfigMap c"],
    ),
    "our object from before a crash is completed": (
        owned(),
        Verdict.UPDATED,
        ["apply ConfigMap c"],
    ),
}


@pytest.mark.parametrize(("there", "verdict", "asked"), STANDING.values(), ids=STANDING.keys())
@pytest.mark.parametrize("selected", [True, False], ids=["in the cache", "not selected"])
async def test_what_is_there(
    there: Object, verdict: Verdict, asked: list[str], selected: bool
) -> None:
    bench = Bench(FakeApi().holding((CONFIG_MAP, there)))
    if not selected:
        bench.caches[CONFIG_MAP].says()
    applied = await bench.ensure()
    assert applied.verdict is verdict
    assert applied.live is not None
    assert bench.api.asked == [*([] if selected else ["peek ConfigMap c"]), *asked]
    if not applied.in_place:
        assert "ConfigMap ns/c" in applied.message
        assert bench.api.objects[(CONFIG_MAP, KEY)]["data"] == {"k": "v"}


async def test_the_message_of_a_conflict_names_object_and_owner() -> None:
    bench = Bench(FakeApi().holding((CONFIG_MAP, owned(OTHER))))
    message = (await bench.ensure()).message
    assert message == "ConfigMap ns/c exists and belongs to Shop other (uid uid-2)"


async def test_an_object_that_appears_meanwhile_gets_its_fields_back() -> None:
    class Sneaky(FakeApi):
        async def get(
            self, resource: Resource, key: ObjectKey, *, metadata_only: bool = False
        ) -> Object:
            try:
                return await super().get(resource, key, metadata_only=metadata_only)
            finally:
                self.holding((CONFIG_MAP, owned(OTHER, uid="theirs")))

    bench = Bench(Sneaky())
    applied = await bench.ensure()
    assert applied.verdict is Verdict.FOREIGN
    first, second = bench.api.calls[1:]
    assert (str(first), str(second)) == ("apply ConfigMap c", "apply ConfigMap c")
    assert not first.force
    assert not second.force
    # An apply of nothing but the identity gives up every field that the first one took.
    assert second.body == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "ns", "uid": "theirs"},
    }


def refusal(code: int, reason: str, *causes: str) -> Exception:
    found = [
        {"reason": cause, "message": 'conflict with "x"', "field": ".data.k"} for cause in causes
    ]
    return status_error(
        {"code": code, "reason": reason, "message": "no", "details": {"causes": found}}
    )


# sentence: (the server's answer to the apply, the verdict)
ANSWERS: dict[str, tuple[Exception, Verdict]] = {
    "an immutable field is a refusal": (refusal(422, "Invalid"), Verdict.REJECTED),
    "fields of somebody else are theirs": (
        refusal(409, "Conflict", "FieldManagerConflict"),
        Verdict.FOREIGN,
    ),
    "a name that was just taken is theirs": (refusal(409, "AlreadyExists"), Verdict.FOREIGN),
}


@pytest.mark.parametrize(("answer", "verdict"), ANSWERS.values(), ids=ANSWERS.keys())
async def test_an_answer_that_is_a_verdict(answer: Exception, verdict: Verdict) -> None:
    bench = Bench()
    bench.api.refuse("apply ConfigMap c", answer)
    applied = await bench.ensure()
    assert applied.verdict is verdict
    assert "ConfigMap ns/c" in applied.message
    assert bench.counted(verdict) == 1


# sentence: (the server's answer to the apply, what is raised)
TROUBLES: dict[str, tuple[Exception, type[Exception]]] = {
    "another object of the name is looked at again": (refusal(409, "Conflict"), Transient),
    "a broken server is asked again": (api_error(500), ServerError),
    "no answer is asked for again": (TransportError("reset"), TransportError),
    "a lost lease ends it": (LeaseLost("expired"), LeaseLost),
}


@pytest.mark.parametrize(("answer", "raised"), TROUBLES.values(), ids=TROUBLES.keys())
async def test_an_answer_that_is_no_verdict(answer: Exception, raised: type[Exception]) -> None:
    bench = Bench()
    await bench.ensure()
    bench.api.refuse("apply ConfigMap c", answer)
    with pytest.raises(raised):
        await bench.ensure(intent(k="new"))
    assert (await bench.ensure(intent(k="new"))).verdict is Verdict.UPDATED


# sentence: (what happens after the refusal, is the server asked again)
AFTER_A_REFUSAL: dict[str, tuple[Callable[[Bench], object], Intent, bool]] = {
    "the same wish for the same object is not sent again": (
        lambda bench: bench.sync(),
        intent(k="bad"),
        False,
    ),
    "another wish is sent": (lambda bench: bench.sync(), intent(k="good"), True),
    "the same wish for a changed object is sent": (
        lambda bench: bench.edit(data={"k": "tampered"}),
        intent(k="bad"),
        True,
    ),
    "a new process asks once": (lambda bench: bench.restart(), intent(k="bad"), True),
}


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
    happens(bench)
    applied = await bench.ensure(wish)
    assert bool(bench.api.asked) is again
    if not again:
        assert applied.verdict is Verdict.REJECTED
        assert applied.message == refused.message


class Slow(FakeApi):
    """A server that takes its time, except for refusals."""

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


async def test_one_failing_object_does_not_hold_back_the_others() -> None:
    """The error is raised when the others are done: nothing goes on behind the caller's back."""
    bench = Bench(Slow())
    bench.api.refuse("apply ConfigMap a", api_error(500))
    with pytest.raises(ServerError):
        await bench.owned.ensure_all(OWNER, [intent("a"), intent("b"), intent("c")])
    assert {key.name for _, key in bench.api.objects} == {"b", "c"}


async def test_answers_come_in_the_order_of_the_intents() -> None:
    wanted = [intent("b"), intent("a"), intent("c")]
    answers = await Bench().owned.ensure_all(OWNER, wanted)
    assert [applied.intent for applied in answers] == wanted


# sentence: (a change of the object, is it news to an owner of its spec)
PRINTS: dict[str, tuple[Object, Object, bool]] = {
    "a status of a kind with generations is no news": (
        {"generation": 1, "resourceVersion": "1"},
        {"generation": 1, "resourceVersion": "2"},
        False,
    ),
    "a generation is": ({"generation": 1}, {"generation": 2}, True),
    "a label is": ({"generation": 1}, {"generation": 1, "labels": {"a": "b"}}, True),
    "an annotation is": ({"generation": 1}, {"generation": 1, "annotations": {"a": "b"}}, True),
    "an owner is": ({"generation": 1}, {"generation": 1, "ownerReferences": [{"uid": "1"}]}, True),
    "a deletion is": ({"generation": 1}, {"generation": 1, "deletionTimestamp": "t"}, True),
    "a finalizer is": ({"generation": 1}, {"generation": 1, "finalizers": ["a/b"]}, True),
    "a successor is": ({"generation": 1, "uid": "1"}, {"generation": 1, "uid": "2"}, True),
    "any version of a kind without generations is": (
        {"resourceVersion": "1"},
        {"resourceVersion": "2"},
        True,
    ),
}


@pytest.mark.parametrize(("before", "after", "news"), PRINTS.values(), ids=PRINTS.keys())
def test_fingerprint(before: Object, after: Object, news: bool) -> None:
    assert (fingerprint({"metadata": before}) != fingerprint({"metadata": after})) is news


def test_children_are_found_by_the_uid_of_their_controller() -> None:
    bench = Bench(FakeApi().holding((CONFIG_MAP, owned()), (CONFIG_MAP, owned(OTHER, name="d"))))
    found = bench.caches[CONFIG_MAP].by_index(OWNER_INDEX, "uid-2")
    assert [obj["metadata"]["name"] for obj in found] == ["d"]
    assert list(controller_uid(owned(ownerReferences=[]))) == []


@pytest.mark.parametrize("verdict", Verdict)
def test_an_object_is_in_place_when_it_is_as_wanted(verdict: Verdict) -> None:
    expected = verdict.value in ("skipped", "created", "updated")
    assert Applied(intent(), verdict, None).in_place is expected
