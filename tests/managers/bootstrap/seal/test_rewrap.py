"""managers.bootstrap.seal.rewrap: the old key is removed after every server applied the rewrap."""

from dataclasses import dataclass, field

import pytest

from contracts.records.observed import PodFacts
from managers.bao.client import BaoError, Denied
from managers.bao.login import StoredToken
from managers.bootstrap.seal.rewrap import SealSession, due, rewrap
from runtime.builtin_kinds import POD
from runtime.types import ObjectKey
from tests import gen
from tests.gen.api import Outside

OLD, NEW = "operator-generated-v1=key", "two=key-2"
SWITCH, SPREAD = f"{NEW},{OLD}", f"{OLD},{NEW}"
CLUSTER = gen.cluster().with_spec(unseal={"static": {"currentKeyID": "two"}}, replicas=3)
KEY = ObjectKey(gen.NAMESPACE, "x-0")
ADDRESSES = ("10.0.0.1", "10.0.0.2", "10.0.0.3")


@dataclass
class FakeBao:
    """Servers with these applied raft indexes."""

    applied: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ADDRESSES, 7))
    rotated: int = 0
    error: Exception | None = None

    async def rotate_root_key(self, address: str, token: str) -> None:
        if self.error is not None:
            raise self.error
        self.rotated += 1

    async def applied_index(self, address: str) -> int:
        return self.applied[address]


def pods(ring: str = SWITCH, mark: str = "", *, ready: bool = True) -> tuple[gen.Pod, ...]:
    results = [
        gen.pod(n).with_keys(ring, mark if n == 0 else "").ready(leading=n == 0) for n in range(3)
    ]
    return (*results[:2], results[2] if ready else results[2].unready())


def facts(*args: str, ready: bool = True) -> list[PodFacts]:
    return [pod.facts() for pod in pods(*args, ready=ready)]


async def look(outside: Outside, bao: FakeBao, mark: str = "", *, login: bool = True) -> bool:
    shown = pods(SWITCH, mark)
    outside.api.with_objects((POD, shown[0].object()))
    token = StoredToken("t") if login else None
    servers = SealSession(bao, [pod.facts() for pod in shown], token)  # type: ignore[arg-type]
    return await rewrap(outside.context, CLUSTER.read(), CLUSTER.owner(), servers)


def mark_of(outside: Outside) -> str:
    annotations = outside.api.objects[(POD, KEY)]["metadata"]["annotations"]
    return str(annotations.get("openbao.org/unseal-rewrapped", ""))


def test_it_is_due_when_all_encrypt_with_the_new_key() -> None:
    cluster = CLUSTER.read()
    assert gen.present(due(cluster, facts())).name == "x-0"
    assert due(cluster, facts(SPREAD)) is None
    assert due(cluster, facts(NEW)) is None
    assert due(cluster, facts(SWITCH, "two")) is None
    assert due(cluster, facts(ready=False)) is None
    assert due(cluster, facts()[:2]) is None
    assert due(cluster, [*facts()[:2], facts(SPREAD)[2]]) is None


async def test_the_index_is_recorded_and_then_compared_on_every_server() -> None:
    outside, bao = Outside(), FakeBao()
    assert await look(outside, bao)
    assert (bao.rotated, mark_of(outside)) == (1, "two@7")
    bao.applied["10.0.0.3"] = 6
    assert await look(outside, bao, "two@7")
    assert mark_of(outside) == "two@7"
    bao.applied["10.0.0.3"] = 8
    await look(outside, bao, "two@7")
    assert (bao.rotated, mark_of(outside)) == (1, "two")


@pytest.mark.parametrize(
    ("mark", "login", "rotated", "after"),
    [("three@1", True, 1, "two@7"), ("two@done", False, 0, "two@7"), ("", False, 0, "")],
    ids=["an annotation for another key", "after a manual rewrap", "without a login"],
)
async def test_which_annotations_skip_the_rewrap(
    mark: str, login: bool, rotated: int, after: str
) -> None:
    outside, bao = Outside(), FakeBao()
    assert await look(outside, bao, mark, login=login) is bool(after)
    assert (bao.rotated, mark_of(outside)) == (rotated, after)


async def test_a_denied_request_is_not_repeated_immediately() -> None:
    outside, bao = Outside(), FakeBao(error=Denied("sys/rotate/root answered 403", 403))
    assert not await look(outside, bao)
    bao.error = None
    assert not await look(outside, bao)
    assert (bao.rotated, mark_of(outside)) == (0, "")


async def test_a_server_that_does_not_answer_is_queried_again() -> None:
    outside, bao = Outside(), FakeBao(error=BaoError("gone"))
    assert await look(outside, bao)
    assert mark_of(outside) == ""
