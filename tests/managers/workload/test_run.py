"""managers.workload.run: a pod is deleted by uid, and it is told."""

import pytest

from contracts.desired import Effect
from managers.workload.run import replace_pod
from runtime.errors import ServerError
from runtime.resources import POD
from tests import gen
from tests.gen.api import FakeApi, Outside, api_error

MEANT = gen.resolved(gen.cluster())
EFFECT = Effect("replace-pod", "x-2", "uid-x-2")


def outside() -> Outside:
    return Outside(FakeApi().holding((POD, gen.pod(2).object())))


async def test_it_is_deleted_by_its_uid_and_told() -> None:
    there = outside()
    await replace_pod(there.context, MEANT, EFFECT)
    assert there.api.body_of("delete Pod x-2")["uid"] == "uid-x-2"
    assert there.api.asked == ["delete Pod x-2"]
    assert await there.told() == [
        ("Normal", "PodReplaced", "Replaced pod x-2, which ran an older template")
    ]


@pytest.mark.parametrize("code", [404, 409])
async def test_one_that_is_gone_or_new_is_let_be(code: int) -> None:
    there = outside()
    there.api.refuse("delete Pod x-2", api_error(code))
    await replace_pod(there.context, MEANT, EFFECT)
    assert len(there.api.objects) == 1
    there.api.calls.clear()
    assert await there.told() == []


async def test_its_successor_of_the_same_name_stays() -> None:
    there = outside()
    await replace_pod(there.context, MEANT, Effect("replace-pod", "x-2", "uid-of-before"))
    assert len(there.api.objects) == 1


async def test_a_broken_server_ends_the_pass() -> None:
    there = outside()
    there.api.refuse("delete Pod x-2", api_error(500))
    with pytest.raises(ServerError):
        await replace_pod(there.context, MEANT, EFFECT)
