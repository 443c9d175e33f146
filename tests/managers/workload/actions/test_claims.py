"""managers.workload.actions.claims.

Each effect by UID, refusals remembered, nothing written blindly.
"""

from dataclasses import replace
from typing import Any

import pytest

from contracts.naming import labels
from contracts.records.effects import AdoptPvc, GrowClaim, RecreateStatefulSet
from managers.workload.actions.claims import adopt_pvc, grow_claim, recreate_stateful_set
from runtime.builtin_kinds import PVC, STATEFUL_SET
from runtime.errors import ServerError
from runtime.types import Object, ObjectKey, annotations_of
from tests import gen
from tests.gen.api import FakeApi, Outside, api_error

MEANT = gen.resolved(gen.cluster())
KEY = ObjectKey(gen.NAMESPACE, "data-x-0")
GROW = GrowClaim("data-x-0", "uid-data-x-0", "1Gi", "2Gi")
TAKE = AdoptPvc("data-x-0", "uid-data-x-0")
RECREATE = RecreateStatefulSet("x", "uid-sts-x", "1")
PATCH = "patch PersistentVolumeClaim data-x-0"


def claim(size: str = "1Gi", **annotations: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "data-x-0",
            "namespace": gen.NAMESPACE,
            "uid": "uid-data-x-0",
            "annotations": annotations,
        },
        "spec": {"resources": {"requests": {"storage": size}}},
    }


def outside(live: Object | None = None) -> Outside:
    return Outside(FakeApi().with_objects((PVC, live or claim())))


def size_of(there: Outside) -> str:
    obj: Any = there.api.objects[(PVC, KEY)]
    return str(obj["spec"]["resources"]["requests"]["storage"])


class TestGrow:
    async def test_the_claim_asks_for_more_and_it_is_told(self) -> None:
        there = outside()
        await grow_claim(there.context, MEANT, GROW)
        assert size_of(there) == "2Gi"
        ops = there.api.body_of(PATCH)
        assert ops[0] == {"op": "test", "path": "/metadata/uid", "value": "uid-data-x-0"}
        assert await there.flush_events() == [("Normal", "VolumeGrows", "data-x-0: 1Gi to 2Gi")]

    async def test_a_claim_that_was_made_anew_is_left_alone(self) -> None:
        there = outside()
        await grow_claim(there.context, MEANT, replace(GROW, uid="uid-of-before"))
        assert size_of(there) == "1Gi"
        assert await there.flush_events() == []

    async def test_what_somebody_else_let_grow_further_does_not_shrink(self) -> None:
        there = outside(claim("5Gi"))
        await grow_claim(there.context, MEANT, GROW)
        assert size_of(there) == "5Gi"

    @pytest.mark.parametrize("code", [403, 422])
    async def test_a_refusal_is_remembered_in_the_words_of_the_server(self, code: int) -> None:
        there = outside()
        there.api.refuse(PATCH, api_error(code))
        await grow_claim(there.context, MEANT, GROW)
        noted = gen.present(there.context.attempts.last(GrowClaim.name, "uid-data-x-0"))
        assert noted.refusal == f"told to say {code}"
        assert noted.at == there.clock.now()
        assert await there.flush_events() == []

    @pytest.mark.parametrize("code", [404, 409])
    async def test_one_that_is_gone_or_changed_is_looked_at_again(self, code: int) -> None:
        there = outside()
        there.api.refuse(PATCH, api_error(code))
        await grow_claim(there.context, MEANT, GROW)
        assert there.context.attempts.last(GrowClaim.name, "uid-data-x-0") is None

    async def test_a_broken_server_ends_the_pass(self) -> None:
        there = outside()
        there.api.refuse(PATCH, api_error(500))
        with pytest.raises(ServerError):
            await grow_claim(there.context, MEANT, GROW)
        assert there.context.attempts.last(GrowClaim.name, "uid-data-x-0") is None


class TestTake:
    async def test_it_carries_our_uid_and_no_longer_the_word(self) -> None:
        there = outside(claim(**{labels.ADOPT: "x", labels.OWNER_UID: "uid-of-before"}))
        await adopt_pvc(there.context, MEANT, TAKE)
        obj = there.api.objects[(PVC, KEY)]
        assert annotations_of(obj) == {labels.OWNER_UID: "uid-x"}
        assert [reason for _, reason, _ in await there.flush_events()] == ["VolumeTaken"]

    @pytest.mark.parametrize("word", ["y", None])
    async def test_without_the_word_of_a_person_nothing_is_taken(self, word: str | None) -> None:
        notes = {labels.OWNER_UID: "uid-of-before", **({labels.ADOPT: word} if word else {})}
        there = outside(claim(**notes))
        await adopt_pvc(there.context, MEANT, TAKE)
        assert annotations_of(there.api.objects[(PVC, KEY)]) == notes


class TestRecreate:
    def there(self) -> Outside:
        return Outside(FakeApi().with_objects((STATEFUL_SET, gen.stateful_set().object())))

    async def test_its_pods_are_left_behind(self) -> None:
        there = self.there()
        await recreate_stateful_set(there.context, MEANT, RECREATE)
        body = there.api.body_of("delete StatefulSet x")
        assert body == {"uid": "uid-sts-x", "propagation": "Orphan", "version": "1"}
        assert [reason for _, reason, _ in await there.flush_events()] == ["StatefulSetRecreated"]
        assert there.context.attempts.last(RecreateStatefulSet.name, "uid-x") is not None

    @pytest.mark.parametrize("code", [404, 409])
    async def test_one_that_is_gone_or_changed_is_looked_at_again(self, code: int) -> None:
        there = self.there()
        there.api.refuse("delete StatefulSet x", api_error(code))
        await recreate_stateful_set(there.context, MEANT, RECREATE)
        assert there.context.attempts.last(RecreateStatefulSet.name, "uid-x") is None
        assert await there.flush_events() == []

    async def test_another_one_of_that_name_stays(self) -> None:
        there = self.there()
        await recreate_stateful_set(there.context, MEANT, replace(RECREATE, uid="uid-of-before"))
        assert len(there.api.of(STATEFUL_SET)) == 1
