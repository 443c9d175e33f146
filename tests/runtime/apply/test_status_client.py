"""runtime.apply.status_client: the requests, their preconditions, and when none is sent."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.apply.status_client import StatusClient
from runtime.builtin_kinds import NAMESPACE, STATEFUL_SET
from runtime.errors import Conflict, NotFound
from runtime.types import Object, ObjectKey
from tests.gen.api import FakeApi, StillInformer, api_error

MANAGER = "a-status-manager"
KEY = ObjectKey("ns", "x")
SET: Object = {
    "metadata": {"namespace": "ns", "name": "x", "uid": "uid-x", "resourceVersion": "7"},
    "status": {"replicas": 1, "report": "of a job"},
}
SENT = "apply/status StatefulSet x"


def _own_part(status: Object) -> Object:
    return {field: value for field, value in status.items() if field != "report"}


class Bench:
    """One StatefulSet on a server, and a status client with a cache."""

    def __init__(self, **options: Any) -> None:
        self.api = FakeApi().with_objects((STATEFUL_SET, SET))
        self.cache = StillInformer(STATEFUL_SET)
        self.cache.says(*self.api.of(STATEFUL_SET))
        self.client = StatusClient(self.api, STATEFUL_SET, MANAGER, self.cache, **options)

    @property
    def live(self) -> Object:
        (obj,) = self.cache.list()
        return obj


async def test_a_changed_status_is_applied_once() -> None:
    bench, before = Bench(), {"replicas": 1, "report": "of a job"}
    assert await bench.client.apply_if_changed(bench.live, before) is bench.live
    stored = await bench.client.apply_if_changed(bench.live, {"replicas": 2})
    (call,) = bench.api.calls
    assert str(call) == SENT
    assert call.force
    assert call.body == {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "x", "namespace": "ns", "uid": "uid-x"},
        "status": {"replicas": 2},
    }
    # The cache has it before the watch delivers it.
    assert bench.live == stored


async def test_only_the_own_part_is_compared() -> None:
    bench = Bench(part=_own_part)
    assert await bench.client.apply_if_changed(bench.live, {"replicas": 1}) is bench.live
    assert bench.api.calls == []


async def test_an_optimistic_lock_sends_the_version_that_was_read() -> None:
    bench = Bench()
    version = bench.live["metadata"]["resourceVersion"]
    await bench.client.apply_if_changed(bench.live, {}, optimistic_lock=True)
    assert list(bench.api.body_of(SENT)["metadata"].items())[2:] == [
        ("uid", "uid-x"),
        ("resourceVersion", version),
    ]


async def test_a_cluster_scoped_object_has_no_namespace_and_no_cache_is_needed() -> None:
    live: Object = {"metadata": {"name": "n", "uid": "uid-n", "resourceVersion": "1"}}
    api = FakeApi().with_objects((NAMESPACE, live))
    await StatusClient(api, NAMESPACE, MANAGER).apply_if_changed(live, {"phase": "Active"})
    assert api.body_of("apply/status Namespace n")["metadata"] == {"name": "n", "uid": "uid-n"}


@pytest.mark.parametrize(("code", "error"), [(404, NotFound), (409, Conflict)])
async def test_errors_of_the_server_are_raised_and_the_cache_stays(
    code: int, error: type[Exception]
) -> None:
    bench = Bench()
    bench.api.refuse(SENT, api_error(code))
    before = bench.live
    with pytest.raises(error):
        await bench.client.apply(KEY, "uid-x", {"replicas": 2})
    assert bench.live is before
