"""The status, the events and the image verifications of a reconcile of a blue/green upgrade."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from contracts.api.cluster.status import ClusterStatus
from contracts.naming import labels
from contracts.pools.voter_pool import ServerPool
from contracts.records.event import EventRecord
from contracts.records.observed import Observed
from managers.cluster.status.cluster_status import ReconcileResult, compute
from managers.upgrade.decide import decide_upgrade
from runtime.builtin_kinds import POD, PVC, STATEFUL_SET
from runtime.errors import ServerError
from runtime.outcome import Done
from tests import gen
from tests.gen.api import Outside, StillInformer, api_error
from tests.managers.cluster.apply.status_bench import StatusBench as Bench
from tests.managers.cluster.image_policy import POLICY, RecordingVerifier
from tests.managers.cluster.parts import observer_of
from tests.managers.cluster.upgrade_phases import GREEN, PLAIN, STRATEGY, at

GLASS = {"active": True, "nonce": "n" * 32, "message": "blue does not lead"}
TOLD = EventRecord("Warning", "RollbackRefused", "it is in phase Cleanup")


def status_of(cluster: gen.Cluster, seen: Observed | None = None) -> ClusterStatus:
    """The status after a reconcile of a cluster, also a paused one."""
    read = cluster.read()
    observed = seen or gen.running(gen.cluster().initialized()).facts()
    if read.spec.paused:
        return compute(ReconcileResult(read, observed, Done()))
    decision = decide_upgrade(read, observed, timedelta(minutes=10))
    return compute(ReconcileResult(read, observed, decision.outcome, decision=decision))


class TestWritten:
    def test_the_decision_of_the_table_is_written(self) -> None:
        locked = at("Syncing").with_status(
            operationLock={"operation": "Upgrade", "holder": "openbaocluster/upgrade"}
        )
        upgrade = {**STRATEGY, "requests": {"rollback": "back-1"}}
        status = status_of(locked.with_spec(upgrade=upgrade))
        assert gen.present(status.blue_green).phase == "RollbackCleanup"
        assert gen.present(status.upgrade_requests).last_handled_rollback == "back-1"
        assert gen.present(status.release).version == "2.4.0"

    def test_a_reconcile_without_a_decision_keeps_the_status(self) -> None:
        rest = {"phase": "Idle", "blueRevision": GREEN, "failedRevision": "0" * 16}
        quiet = PLAIN.with_status(
            release={"version": "2.4.1"},
            blueGreen=rest,
            breakGlass={**GLASS, "active": False},
            upgradeRequests={"lastHandledRetry": "again-1"},
        )
        status, before = status_of(quiet), quiet.read().status
        assert status.blue_green == before.blue_green
        assert status.break_glass == before.break_glass
        assert status.upgrade_requests == before.upgrade_requests

    @pytest.mark.parametrize("phase", ["Idle", "Syncing", "DemotingBlue", "Cleanup"])
    def test_the_status_is_kept_while_paused(self, phase: str) -> None:
        cluster = (
            at(phase)
            .with_spec(paused=True)
            .with_status(breakGlass=GLASS, upgradeRequests={"lastHandledPromote": "go-1"})
        )
        status, before = status_of(cluster), cluster.read().status
        assert status.blue_green == before.blue_green
        assert status.break_glass == before.break_glass
        assert status.release == before.release
        assert status.upgrade_requests == before.upgrade_requests

    def test_break_glass_stays_until_a_user_acknowledges_it(self) -> None:
        waiting = at("RollingBack").with_status(breakGlass=GLASS)
        assert status_of(waiting).break_glass == waiting.read().status.break_glass
        answered = gen.present(
            status_of(waiting.with_spec(breakGlassAck=GLASS["nonce"])).break_glass
        )
        assert not answered.active
        assert answered.acknowledged_at == gen.NOW

    def test_the_selector_is_that_of_the_serving_pool(self) -> None:
        for cluster, expected in (
            (at("DemotingBlue"), ServerPool("x")),
            (at("Cleanup"), ServerPool("x", GREEN)),
        ):
            assert status_of(cluster).selector == labels.selector_text(expected.selector)


class TestAnnouncements:
    STATUS = status_of(at("Syncing"))

    async def test_events_are_sent_once_with_the_write(self) -> None:
        bench = Bench(at("JoiningMesh"))
        await bench.write(self.STATUS, TOLD)
        await bench.write(self.STATUS, TOLD)
        assert (await bench.event_reasons()).count(TOLD.reason) == 1

    async def test_no_event_is_sent_if_the_write_fails_or_the_cluster_is_deleted(self) -> None:
        bench = Bench(at("JoiningMesh"))
        bench.api.refuse("apply/status OpenBaoCluster x", api_error(500))
        with pytest.raises(ServerError):
            await bench.write(self.STATUS, TOLD)
        assert await bench.event_reasons() == []
        bench.api.objects.clear()
        await bench.write(self.STATUS, TOLD)
        assert await bench.event_reasons() == []

    async def test_the_decision_of_an_upgrade_is_written_immediately(self) -> None:
        bench = Bench(at("JoiningMesh"))
        assert await bench.write(self.STATUS) is None
        changes: tuple[dict[str, Any], ...] = (
            {"blue_green": replace_phase(self.STATUS, "Promoting")},
            {"break_glass": at("Syncing").with_status(breakGlass=GLASS).read().status.break_glass},
        )
        for number, change in enumerate(changes):
            record = replace(TOLD, text=f"{TOLD.text} {number}")
            assert await bench.write(self.STATUS.model_copy(update=change), record) is None
        assert (await bench.event_reasons()).count(TOLD.reason) == 2


def replace_phase(status: ClusterStatus, phase: str) -> Any:
    """The same upgrade in another phase."""
    return gen.present(status.blue_green).model_copy(update={"phase": phase})


# sentence: (cluster, versions of the verified images)
IMAGES: dict[str, tuple[gen.Cluster, list[str]]] = {
    "those of both pools": (at("Syncing"), ["2.4.0", "2.4.1"]),
    "one image of both": (at("Cleanup"), ["2.4.1"]),
    "not the next before its time": (PLAIN.with_status(release={"version": "2.4.0"}), ["2.4.0"]),
    "none while paused": (at("Syncing").with_spec(paused=True), []),
}


@pytest.mark.parametrize(("cluster", "versions"), IMAGES.values(), ids=IMAGES)
async def test_images_are_verified_once(cluster: gen.Cluster, versions: list[str]) -> None:
    verifier = RecordingVerifier()
    caches = {kind: StillInformer(kind) for kind in (POD, PVC, STATEFUL_SET)}
    observer = observer_of(Outside(), caches, images=verifier)
    asking = cluster.with_spec(imageVerification=POLICY)
    await observer.observe(asking.read(), asking.owner())
    assert (
        sorted(request.reference.rpartition(":")[2] for request in verifier.questions) == versions
    )
