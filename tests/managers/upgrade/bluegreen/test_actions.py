"""managers.upgrade.bluegreen.actions.

Effects are idempotent and change only their own objects.
"""

from __future__ import annotations

from typing import Any

import pytest

from contracts.api.cluster.upgrade import PrePromotionHook
from contracts.api.group import CLUSTERS
from contracts.builders.validation_hook_job import GREEN_REVISION, OPERATION_ID, SPEC_HASH
from contracts.jobs import upgrade_actions
from contracts.jobs.template import JobTemplate
from contracts.records.bluegreen import job_attempt_key
from contracts.records.effects import EffectByUid
from contracts.records.upgrade_effects import (
    DeleteServerClaim,
    DeleteStatefulSet,
    DropHook,
    MakeHook,
    MakeJob,
    StartHook,
)
from managers.jobs.client import Jobs
from managers.upgrade.bluegreen.actions import BlueGreenActions
from runtime.builtin_kinds import JOB, PVC, STATEFUL_SET
from runtime.errors import ServerError
from runtime.outcome import Blocked, Wait
from runtime.types import Object, ObjectKey, Resource
from tests import gen
from tests.gen.api import FakeApi, Outside, api_error
from tests.gen.job_templates import FixedJobTemplates, upgrader

GREEN = "0123456789abcdef"
HOOK = PrePromotionHook(image="registry.example.com/hook:1", command=("check",))
ORDER = upgrade_actions.Order(upgrade_actions.JOIN, "op", blue=("x-0",), green=(f"x-{GREEN}-0",))
MADE = MakeJob("job", "uid-x", ORDER)
JUDGED = MakeHook("hook", "uid-x", "op", GREEN, "hash", HOOK)


class Bench:
    """The effects on a fake API server with one cluster."""

    def __init__(self, answer: JobTemplate | Wait | Blocked | None = None) -> None:
        self.api = FakeApi().with_objects((CLUSTERS, gen.cluster().object()))
        self.outside = Outside(self.api)
        self.acts = BlueGreenActions(Jobs(self.api), FixedJobTemplates(answer or upgrader()))

    async def run(self, *effects: EffectByUid) -> list[str]:
        """Run effects and return the writes."""
        self.api.calls.clear()
        for effect in effects:
            run = self.acts.table[type(effect)]
            await run(self.outside.context, gen.cluster().owner(), effect)
        return [str(call) for call in self.api.calls if call.verb != "get"]

    def refusal_of(self, effect: EffectByUid) -> str | None:
        """The recorded refusal of an effect; None for none."""
        tried = job_attempt_key(effect.name, effect.target)
        last = self.outside.context.attempts.last(tried, effect.uid)
        return None if last is None else last.refusal

    def has(self, resource: Resource, name: str) -> bool:
        return (resource, ObjectKey(gen.NAMESPACE, name)) in self.api.objects

    def only_job(self) -> Object:
        (job,) = self.api.of(JOB)
        return job


class TestJob:
    async def test_the_job_is_created_once_and_owned_by_the_cluster(self) -> None:
        bench = Bench()
        for _ in range(3):
            await bench.run(MADE)
        (owner,) = bench.only_job()["metadata"]["ownerReferences"]
        assert owner["uid"] == "uid-x"
        assert not bench.refusal_of(MADE)

    @pytest.mark.parametrize("effect", [MADE, JUDGED], ids=["Job", "hook"])
    async def test_a_refusal_is_recorded(self, effect: EffectByUid) -> None:
        bench = Bench()
        create = bench.api.create

        async def refusing(*args: Any, **more: Any) -> Any:
            raise api_error(422)

        bench.api.create = refusing  # type: ignore[method-assign]
        await bench.run(effect)
        assert "told to say 422" in (bench.refusal_of(effect) or "")
        bench.api.create = create  # type: ignore[method-assign]
        await bench.run(effect)
        assert bench.only_job()

    @pytest.mark.parametrize("effect", [MADE, JUDGED], ids=["Job", "hook"])
    async def test_a_temporary_error_is_not_recorded_as_a_refusal(
        self, effect: EffectByUid
    ) -> None:
        bench = Bench()

        async def failing(*args: Any, **more: Any) -> Any:
            raise api_error(500)

        bench.api.create = failing  # type: ignore[method-assign]
        with pytest.raises(ServerError):
            await bench.run(effect)
        assert bench.refusal_of(effect) is None

    @pytest.mark.parametrize("effect", [MADE, JUDGED], ids=["Job", "hook"])
    async def test_a_blocked_template_is_recorded_and_a_wait_is_not(
        self, effect: EffectByUid
    ) -> None:
        stuck, waiting = Bench(Blocked("NoImage", "none is known")), Bench(Wait("Soon", "wait"))
        assert await stuck.run(effect) == await waiting.run(effect) == []
        assert stuck.refusal_of(effect) == "NoImage: none is known"
        assert waiting.refusal_of(effect) is None


class TestHook:
    async def test_the_hook_is_created_suspended_with_its_identity(self) -> None:
        bench = Bench()
        for _ in range(2):
            await bench.run(JUDGED)
        live = bench.only_job()
        assert live["spec"]["suspend"] is True
        notes = live["metadata"]["annotations"]
        assert (notes[OPERATION_ID], notes[GREEN_REVISION]) == ("op", GREEN)
        assert notes[SPEC_HASH] == "hash"
        (container,) = live["spec"]["template"]["spec"]["containers"]
        assert container["command"] == ["check"]
        assert "serviceAccountName" not in live["spec"]["template"]["spec"]

    async def test_a_running_hook_is_never_suspended_again(self) -> None:
        bench = Bench()
        await bench.run(JUDGED, StartHook("hook", "uid-hook"), JUDGED)
        assert bench.only_job()["spec"]["suspend"] is False

    @pytest.mark.parametrize("uid", ["", "another"])
    async def test_only_the_recorded_hook_is_started(self, uid: str) -> None:
        bench = Bench()
        await bench.run(JUDGED, StartHook("hook", uid))
        assert bench.only_job()["spec"]["suspend"] is True

    async def test_a_deleted_hook_is_not_started(self) -> None:
        assert await Bench().run(StartHook("hook", "uid-hook")) == ["patch Job hook"]

    async def test_only_the_observed_hook_is_deleted(self) -> None:
        bench = Bench()
        await bench.run(JUDGED, DropHook("hook", "another"))
        assert bench.has(JOB, "hook")
        for _ in range(2):
            await bench.run(DropHook("hook", "uid-hook"))
        assert not bench.has(JOB, "hook")


# sentence: (effect, the kind that it deletes)
DELETIONS: dict[str, tuple[type[EffectByUid], Resource]] = {
    "a set": (DeleteStatefulSet, STATEFUL_SET),
    "a volume": (DeleteServerClaim, PVC),
}


class TestDeletions:
    def bench(self, resource: Resource) -> Bench:
        bench = Bench()
        metadata = {"name": "it", "namespace": gen.NAMESPACE, "uid": "uid-it"}
        bench.api.with_objects((resource, {"metadata": metadata}))
        return bench

    @pytest.mark.parametrize(("effect", "resource"), DELETIONS.values(), ids=DELETIONS)
    async def test_a_deletion_has_the_uid_of_the_plan(
        self, effect: type[EffectByUid], resource: Resource
    ) -> None:
        bench = self.bench(resource)
        await bench.run(effect("it", "uid-of-a-former-one"))
        assert bench.has(resource, "it")
        for _ in range(2):
            await bench.run(effect("it", "uid-it"))
        assert not bench.has(resource, "it")

    async def test_pods_are_deleted_with_their_stateful_set(self) -> None:
        bench = self.bench(STATEFUL_SET)
        await bench.run(DeleteStatefulSet("it", "uid-it"))
        assert bench.api.calls[-1].body["propagation"] == "Background"

    @pytest.mark.parametrize(("effect", "resource"), DELETIONS.values(), ids=DELETIONS)
    async def test_an_error_ends_the_reconcile(
        self, effect: type[EffectByUid], resource: Resource
    ) -> None:
        bench = self.bench(resource)
        bench.api.refuse(f"delete {resource.kind} it", api_error(500))
        with pytest.raises(ServerError):
            await bench.run(effect("it", "uid-it"))
