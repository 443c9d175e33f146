"""One write per change, none without a change, details with a delay."""

import copy
from typing import Any

import pytest

from contracts.api.cluster.status import ClusterStatus
from contracts.api.cluster.status_upgrade import ReleaseStatus
from contracts.api.group import CLUSTERS
from contracts.api.schema.crd import open_api_schema
from contracts.records.event import EventRecord
from managers.cluster.apply.status_writer import ADMINOPS_MANAGER, DETAIL_INTERVAL, STATUS_MANAGER
from runtime.errors import Conflict, MalformedApply, status_error
from runtime.types import ObjectKey, key_of
from tests import gen
from tests.managers.cluster.apply.status_bench import OLD
from tests.managers.cluster.apply.status_bench import StatusBench as Bench
from tests.managers.cluster.bench import KEY
from tests.managers.cluster.bench import STATUS as WRITE
from tests.managers.cluster.passes import status_of

FINE = gen.running(OLD)


def writers(bench: Bench) -> list[tuple[str, bool]]:
    """Field managers of the applies, and whether they forced."""
    return [(call.manager, call.force) for call in bench.api.calls if call.manager]


STEADY = status_of(OLD, FINE)
DETAIL = STEADY.model_copy(update={"sealed": "unknown"})
HEADLINE = status_of(OLD, FINE.with_pods(*FINE.pods[:2]))


async def test_a_status_is_written_once() -> None:
    bench = Bench()
    assert await bench.write(STEADY) is None
    assert writers(bench) == [(STATUS_MANAGER, True)]
    body = bench.api.body_of(WRITE)
    assert body["metadata"] == {"name": "x", "namespace": gen.NAMESPACE, "uid": "uid-x"}
    assert "spec" not in body
    # The cache has it before the watch event.
    assert ClusterStatus.model_validate(bench.live["status"]) == STEADY
    assert bench.api.take_requests() == [WRITE]
    assert await bench.write(STEADY) is None
    assert bench.api.take_requests() == []


THEIRS: dict[str, Any] = {
    "adminOps": {"raft": {"voters": 3, "nonVoters": 0, "leader": "x-0", "clusterID": "c"}},
    "backup": {"lastBackupTime": "2030-01-01T00:00:00Z", "restoreTest": {"conditions": []}},
    "operationLock": {"operation": "Backup", "holder": "openbaobackup/nightly", "epoch": 3},
    "operationLockEpoch": 3,
    "restore": {"name": "monday", "uid": "u"},
}


async def test_the_parts_of_other_writers_are_neither_written_nor_compared() -> None:
    bench = Bench(OLD.with_status(**THEIRS))
    await bench.write(status_of(OLD.with_status(**THEIRS), FINE))
    assert not THEIRS.keys() & bench.api.body_of(WRITE)["status"].keys()
    assert {part: bench.live["status"][part] for part in THEIRS} == THEIRS
    bench.api.calls.clear()
    assert await bench.write(status_of(OLD.with_status(**THEIRS), FINE)) is None
    assert bench.api.take_requests() == []


@pytest.fixture
async def bench() -> Bench:
    """A writer that has written a status."""
    bench = Bench()
    await bench.write(STEADY)
    return bench


class TestDetails:
    async def test_a_detail_right_after_a_write_is_deferred(self, bench: Bench) -> None:
        await bench.outside.clock.advance(0.5)
        assert await bench.write(DETAIL) == pytest.approx(DETAIL_INTERVAL - 0.5)
        await bench.outside.clock.advance(DETAIL_INTERVAL - 0.6)
        due = gen.present(await bench.write(DETAIL))
        assert due == pytest.approx(0.1)
        assert bench.api.take_requests() == [WRITE]
        await bench.outside.clock.advance(due)
        assert await bench.write(DETAIL) is None
        assert bench.api.take_requests() == [WRITE]

    async def test_a_reverted_detail_is_never_written(self, bench: Bench) -> None:
        await bench.write(DETAIL)
        await bench.outside.clock.advance(DETAIL_INTERVAL)
        assert await bench.write(STEADY) is None
        assert bench.api.take_requests() == [WRITE]

    async def test_a_headline_is_written_immediately(self, bench: Bench) -> None:
        assert await bench.write(HEADLINE) is None
        assert bench.api.take_requests() == [WRITE, WRITE]

    # sentence: (fields of the status that differ)
    HEADLINES = (
        {"phase": "Failed"},
        {"observed_generation": 2},
        {"initialized": False},
        {"active_leader": "x-2"},
        {"ready_replicas": 2},
    )

    async def test_a_short_time_without_a_leader_is_a_detail(self, bench: Bench) -> None:
        """The name of the next leader follows, and is written immediately."""
        assert await bench.write(STEADY.model_copy(update={"active_leader": ""})) is not None

    async def test_servers_that_come_up_one_by_one_are_a_detail(self) -> None:
        bench = Bench()
        young = STEADY.model_copy(update={"phase": "Initializing", "ready_replicas": 1})
        await bench.write(young)
        assert await bench.write(young.model_copy(update={"ready_replicas": 2})) is not None

    @pytest.mark.parametrize("fields", HEADLINES, ids=lambda fields: next(iter(fields)))
    async def test_further_headlines(self, bench: Bench, fields: dict[str, Any]) -> None:
        assert await bench.write(STEADY.model_copy(update=fields)) is None
        assert bench.api.take_requests() == [WRITE, WRITE]

    async def test_one_cluster_does_not_delay_another(self, bench: Bench) -> None:
        other = gen.cluster("y").initialized()
        bench.api.with_objects((CLUSTERS, other.object()))
        live = bench.api.objects[(CLUSTERS, ObjectKey(gen.NAMESPACE, "y"))]
        assert await bench.writer.write(copy.deepcopy(live), DETAIL) is None

    async def test_a_deleted_cluster_delays_no_successor(self, bench: Bench) -> None:
        bench.writer.forget(key_of(bench.live))
        assert await bench.write(DETAIL) is None


async def test_a_transition_is_an_event_after_the_write(bench: Bench) -> None:
    await bench.write(HEADLINE)
    events = await bench.outside.flush_events()
    assert [(kind, reason) for kind, reason, _ in events] == [
        ("Normal", "AllReplicasReady"),
        ("Normal", "Initialized"),
        ("Warning", "NotReady"),
    ]


async def test_an_unwritten_transition_is_no_event() -> None:
    bench = Bench()
    bench.api.refuse(WRITE, status_error({"code": 409, "reason": "Conflict"}))
    with pytest.raises(Conflict):
        await bench.write(STEADY)
    del bench.api.objects[(CLUSTERS, KEY)]
    assert await bench.write(STEADY) is None, "the cluster is deleted"
    assert await bench.outside.flush_events() == []


async def test_a_new_cluster_of_the_name_gets_no_old_status() -> None:
    bench = Bench()
    bench.api.objects.clear()
    bench.api.with_objects((CLUSTERS, gen.cluster().with_metadata(uid="uid-2").object()))
    assert await bench.write(STEADY) is None
    assert "status" not in bench.api.objects[(CLUSTERS, KEY)]


async def test_an_unreadable_status_is_replaced() -> None:
    bench = Bench(OLD.with_status(conditions="none"))
    assert await bench.write(STEADY) is None
    assert ClusterStatus.model_validate(bench.live["status"]) == STEADY


PART = {"raft": {"voters": 3, "nonVoters": 0, "leader": "x-0", "clusterID": "c"}}


async def test_adminops_are_written_alone_and_once() -> None:
    bench = Bench()
    assert not await bench.writer.write_adminops(bench.live, {}), "an empty result is no change"
    assert bench.api.take_requests() == []
    assert await bench.writer.write_adminops(bench.live, PART)
    assert bench.api.body_of(WRITE)["status"] == {"adminOps": PART}
    assert writers(bench) == [(ADMINOPS_MANAGER, True)]
    assert not await bench.writer.write_adminops(bench.live, PART)
    assert bench.api.take_requests() == [WRITE]


async def test_adminops_keep_the_other_part(bench: Bench) -> None:
    await bench.writer.write_adminops(bench.live, PART)
    assert bench.live["status"]["phase"] == "Running"


class OlderSchemas:
    """Schemas of an API server whose cluster status lacks some fields."""

    def __init__(self, *missing: str) -> None:
        self.doubts = 0
        self.schema: dict[str, Any] | None = copy.deepcopy(
            open_api_schema()["properties"]["status"]
        )
        assert self.schema is not None
        for name in missing:
            *outer, last = name.split(".")
            node = self.schema
            for step in outer:
                node = node["properties"][step]
            del node["properties"][last]

    def status_of(self, kind: str, /) -> dict[str, Any] | None:
        return self.schema

    def invalidate(self) -> None:
        self.doubts += 1


class TestOlderSchema:
    async def test_fields_are_omitted_until_the_schema_has_them(self) -> None:
        schemas = OlderSchemas("sealed")
        bench = Bench(schemas=schemas)
        await bench.write(STEADY)
        written = bench.api.body_of(WRITE)["status"]
        expected = STEADY.to_object()
        assert written == {name: expected[name] for name in expected if name != "sealed"}
        bench.api.calls.clear()
        assert await bench.write(STEADY) is None, "omitted fields cause no further write"
        assert bench.api.take_requests() == []
        schemas.schema = None
        await bench.outside.clock.advance(DETAIL_INTERVAL)
        await bench.write(STEADY)
        assert bench.live["status"]["sealed"] == STEADY.sealed

    async def test_a_decision_that_cannot_be_stored_brings_no_events(self) -> None:
        bench = Bench(schemas=OlderSchemas("release.version"))
        status = STEADY.model_copy(update={"release": ReleaseStatus(version="2.7.0")})
        note = EventRecord("Normal", "UpgradeInProgress", "begun")
        await bench.writer.write(bench.live, status, (note,))
        assert "release" not in bench.api.body_of(WRITE)["status"]
        assert "begun" not in {note for _, _, note in await bench.outside.flush_events()}

    async def test_keys_that_cannot_be_stored_keep_their_stored_value(self) -> None:
        schemas = OlderSchemas("adminOps.recoveryKeys.stored", "adminOps.raft.leader")
        stored = {"recoveryKeys": {"stored": False, "nonce": "n", "reason": "", "message": ""}}
        bench = Bench(OLD.with_status(adminOps=stored), schemas=schemas)
        expected = {"recoveryKeys": {"stored": True}, "raft": {"voters": 3, "leader": "x-0"}}
        await bench.writer.write_adminops(bench.live, expected)
        written = bench.api.body_of(WRITE)["status"]["adminOps"]
        assert written == {**stored, "raft": {"voters": 3}}

    async def test_a_rejected_status_triggers_a_read_of_the_schemas(self) -> None:
        schemas = OlderSchemas()
        bench = Bench(schemas=schemas)
        answer = {
            "code": 500,
            "reason": "InternalError",
            "message": "failed to create typed patch object: field not declared in schema",
        }
        bench.api.refuse(WRITE, status_error(answer))
        with pytest.raises(MalformedApply):
            await bench.write(STEADY)
        assert schemas.doubts == 1
