"""Effects on PVCs: by UID, with recorded refusals."""

from typing import Any

import pytest

from contracts.naming import labels
from contracts.records.effects import AdoptPvc, GrowClaim, RecreateStatefulSet
from managers.workload.actions.claims import adopt_pvc, grow_claim, recreate_stateful_set
from runtime.builtin_kinds import PVC, STATEFUL_SET
from runtime.types import Object, ObjectKey, annotations_of
from tests import gen
from tests.gen.api import FakeApi, Outside, api_error

MEANT = gen.resolved(gen.cluster())
KEY = ObjectKey(gen.NAMESPACE, "data-x-0")
GROW = GrowClaim("data-x-0", "uid-data-x-0", "1Gi", "2Gi")
TAKE = AdoptPvc("data-x-0", "uid-data-x-0")
RECREATE = RecreateStatefulSet("x", "uid-sts-x", "1")
PATCH = "patch PersistentVolumeClaim data-x-0"


def outside(live: Object | None = None) -> Outside:
    return Outside(FakeApi().with_objects((PVC, live or gen.claim())))


def size_of(there: Outside) -> str:
    obj: Any = there.api.objects[(PVC, KEY)]
    return str(obj["spec"]["resources"]["requests"]["storage"])


class TestGrow:
    async def test_the_pvc_request_grows_with_an_event(self) -> None:
        there = outside()
        await grow_claim(there.context, MEANT, GROW)
        assert size_of(there) == "2Gi"
        ops = there.api.body_of(PATCH)
        assert ops[0] == {"op": "test", "path": "/metadata/uid", "value": "uid-data-x-0"}
        assert await there.flush_events() == [("Normal", "VolumeGrows", "data-x-0: 1Gi to 2Gi")]

    async def test_a_larger_pvc_does_not_shrink(self) -> None:
        there = outside(gen.claim(size="5Gi"))
        await grow_claim(there.context, MEANT, GROW)
        assert size_of(there) == "5Gi"

    @pytest.mark.parametrize("code", [403, 422])
    async def test_a_refusal_is_recorded_with_the_message_of_the_server(self, code: int) -> None:
        there = outside()
        there.api.refuse(PATCH, api_error(code))
        await grow_claim(there.context, MEANT, GROW)
        noted = gen.present(there.context.attempts.last(GrowClaim.name, "uid-data-x-0"))
        assert noted.refusal == f"told to say {code}"
        assert noted.at == there.clock.now()
        assert await there.flush_events() == []


class TestAdopt:
    async def test_an_adopted_pvc_has_our_uid_and_no_adopt_annotation(self) -> None:
        there = outside(
            gen.claim(annotations={labels.ADOPT: "x", labels.OWNER_UID: "uid-of-before"})
        )
        await adopt_pvc(there.context, MEANT, TAKE)
        obj = there.api.objects[(PVC, KEY)]
        assert annotations_of(obj) == {labels.OWNER_UID: "uid-x"}
        assert [reason for _, reason, _ in await there.flush_events()] == ["VolumeTaken"]

    @pytest.mark.parametrize("word", ["y", None])
    async def test_a_pvc_without_the_adopt_annotation_is_not_changed(
        self, word: str | None
    ) -> None:
        notes = {labels.OWNER_UID: "uid-of-before", **({labels.ADOPT: word} if word else {})}
        there = outside(gen.claim(annotations=notes))
        await adopt_pvc(there.context, MEANT, TAKE)
        assert annotations_of(there.api.objects[(PVC, KEY)]) == notes


async def test_a_recreated_stateful_set_orphans_its_pods() -> None:
    there = Outside(FakeApi().with_objects((STATEFUL_SET, gen.stateful_set().object())))
    await recreate_stateful_set(there.context, MEANT, RECREATE)
    body = there.api.body_of("delete StatefulSet x")
    assert body == {"uid": "uid-sts-x", "propagation": "Orphan", "version": "1"}
    assert [reason for _, reason, _ in await there.flush_events()] == ["StatefulSetRecreated"]
    assert there.context.attempts.last(RecreateStatefulSet.name, "uid-x") is not None
