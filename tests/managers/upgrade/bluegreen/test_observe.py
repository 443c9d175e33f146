"""managers.upgrade.bluegreen.observe: the requests of each phase, and the observation."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.cluster.status_upgrade import ValidationHookStatus
from contracts.api.group import BACKUPS
from contracts.builders.validation_hook_job import GREEN_REVISION, OPERATION_ID, SPEC_HASH
from contracts.naming import labels
from contracts.records.bluegreen import job_name
from contracts.records.bluegreen_phases import ACTIONS
from contracts.records.upgrade import BlueGreenObservation
from managers.upgrade.bluegreen.observe import BlueGreenObserver, hook_observation
from managers.upgrade.observe import UpgradeObserver
from runtime.builtin_kinds import JOB, SERVICE
from runtime.types import Object
from tests import gen
from tests.gen.api import FakeApi
from tests.managers.upgrade.two_pools import WHOLE

GREEN = "0123456789abcdef"
RECEIPT = {
    "operationID": "op",
    "greenRevision": GREEN,
    "specHash": "hash",
    "stage": "Committed",
    "jobName": "hook",
    "jobUID": "uid-hook",
}
NOTES = {OPERATION_ID: "op", GREEN_REVISION: GREEN, SPEC_HASH: "hash"}
PHASES = (*WHOLE[:-1], "RestoringReadReplicas", "RollingBack", "RollbackCleanup")


def at(phase: str, **status: Any) -> OpenBaoCluster:
    """A cluster in a phase whose status names every object."""
    known = {"phase": phase, "operationID": "op", "greenRevision": GREEN, **status}
    manifest = gen.cluster(version="2.5.0", upgrade={"strategy": "BlueGreen"}).initialized()
    return manifest.with_status(release={"version": "2.4.0"}, blueGreen=known).read()


def cluster_in_phase(phase: str) -> OpenBaoCluster:
    return at(
        phase,
        lastJobFailure="former-job",
        validationHook=RECEIPT,
        preUpgradeSnapshotJobName="snapshot",
    )


def job(name: str, *, owner: str = "uid-x", uid: str = "", **more: Any) -> Object:
    """A Job of the cluster."""
    reference = {**gen.cluster().owner().reference(), "uid": owner}
    metadata = {
        "name": name,
        "namespace": gen.NAMESPACE,
        "uid": uid or f"uid-{name}",
        "ownerReferences": [reference],
        "annotations": NOTES,
    }
    return {"metadata": metadata, "spec": {}, **more}


def ended_job(kind: str) -> Object:
    return {"conditions": [{"type": kind, "status": "True"}]}


async def look(
    cluster: OpenBaoCluster, *held: tuple[Any, Object]
) -> tuple[BlueGreenObservation, list[str]]:
    api = FakeApi().with_objects(*held)
    seen = await BlueGreenObserver(api, lambda count: b"\x07" * count).observe(cluster)
    return seen, api.take_requests()


# The requests besides the Job of the phase.
MORE: dict[str, list[str]] = {
    "Idle": ["get OpenBaoBackup snapshot"],
    "Syncing": ["get Job hook"],
    "DemotingBlue": ["get Service x-public"],
    "RollingBack": ["get Job former-job", "get Service x-public"],
    "RollbackCleanup": ["get Job former-job"],
}


@pytest.mark.parametrize("phase", PHASES)
async def test_only_objects_of_the_phase_are_requested(phase: str) -> None:
    cluster = cluster_in_phase(phase)
    own = [f"get Job {job_name(cluster)}"] if phase in ACTIONS else []
    seen, requests = await look(cluster)
    assert requests == [*own, *MORE.get(phase, [])]
    assert seen == BlueGreenObservation(nonce="07" * 16)


@pytest.mark.parametrize("phase", PHASES)
async def test_unnamed_objects_are_not_requested(phase: str) -> None:
    cluster = at(phase)
    done = at(phase, completedJob=job_name(cluster))
    _, requests = await look(done)
    # The Service is not read once the Job of the phase is done.
    assert [request for request in requests if not request.startswith("get Service")] == []


@pytest.mark.parametrize("stage", ["TerminalObserved", "Unknown"])
async def test_a_finished_hook_is_not_read_again(stage: str) -> None:
    cluster = at("Syncing", validationHook={**RECEIPT, "stage": stage})
    _, requests = await look(cluster)
    assert requests == [f"get Job {job_name(cluster)}"]


async def test_the_job_of_the_phase() -> None:
    cluster = at("Promoting")
    name = job_name(cluster)
    for live, expected in (
        (job(name), ("Active", False)),
        (job(name, status=ended_job("Complete")), ("Succeeded", False)),
        (job(name, status=ended_job("Failed")), ("Failed", False)),
        (job(name, owner="another", status=ended_job("Complete")), ("Succeeded", True)),
    ):
        seen, _ = await look(cluster, (JOB, live))
        assert seen.job is not None
        assert (seen.job.state, seen.job.foreign) == expected


class TestFormerJob:
    async def former(self, why: str, **status: Any) -> str:
        cluster = at("RollingBack", lastJobFailure=why)
        return (await look(cluster, (JOB, job("former-job", **status))))[0].former_job

    async def test_the_former_job_counts_while_it_is_active(self) -> None:
        assert await self.former("former-job") == "former-job"
        assert await self.former("former-job", status=ended_job("Failed")) == ""
        assert await self.former("another-job") == ""

    async def test_a_failure_message_is_not_a_job_name(self) -> None:
        assert await self.former("Job former-job failed (no reason given); read its log") == ""

    async def test_a_foreign_former_job_is_waited_for(self) -> None:
        """Its state is unknown, so no vote is changed while it exists."""
        assert await self.former("former-job", owner="another") == "former-job"


class TestTraffic:
    async def traffic(self, selector: dict[str, str] | None) -> str | None:
        metadata = {"name": "x-public", "namespace": gen.NAMESPACE}
        spec = {} if selector is None else {"selector": selector}
        seen, _ = await look(at("DemotingBlue"), (SERVICE, {"metadata": metadata, "spec": spec}))
        return seen.traffic

    async def test_the_traffic_is_read_from_the_selector(self) -> None:
        assert await self.traffic({labels.REVISION: GREEN}) == GREEN
        assert await self.traffic({labels.FIRST_SET: "true"}) == ""
        assert await self.traffic(None) == ""


async def test_the_snapshot() -> None:
    cluster = at("Idle", preUpgradeSnapshotJobName="snapshot")
    live: Object = {
        "metadata": {
            "name": "snapshot",
            "namespace": gen.NAMESPACE,
            "labels": {labels.MANAGED_BY: labels.OPERATOR},
        },
        "spec": {"cluster": "x", "origin": "PreUpgrade"},
        "status": {"phase": "Completed"},
    }
    seen, _ = await look(cluster, (BACKUPS, live))
    assert seen.snapshot is not None
    assert (seen.snapshot.phase, seen.snapshot.foreign) == ("Completed", False)
    seen, _ = await look(cluster, (BACKUPS, {**live, "spec": {"cluster": "y"}}))
    assert gen.present(seen.snapshot).foreign


class TestHook:
    RECEIPT = ValidationHookStatus.model_validate(RECEIPT)

    def test_the_hook_is_identified_by_owner_and_receipt(self) -> None:
        observation = hook_observation(job("hook", spec={"suspend": True}), self.RECEIPT, "uid-x")
        assert (observation.uid, observation.state, observation.suspended) == (
            "uid-hook",
            "Active",
            True,
        )
        assert not observation.foreign
        assert not observation.terminating

    @pytest.mark.parametrize("note", NOTES)
    def test_a_differing_annotation_makes_the_hook_foreign(self, note: str) -> None:
        live = job("hook")
        for notes in ({**NOTES, note: "other"}, {k: v for k, v in NOTES.items() if k != note}):
            live["metadata"]["annotations"] = notes
            assert hook_observation(live, self.RECEIPT, "uid-x").foreign

    def test_another_owner_makes_the_hook_foreign(self) -> None:
        assert hook_observation(job("hook", owner="another"), self.RECEIPT, "uid-x").foreign

    def test_a_failed_hook_has_a_message(self) -> None:
        failed = ended_job("Failed")
        failed["conditions"][0] |= {"reason": "DeadlineExceeded", "message": "too late"}
        observation = hook_observation(job("hook", status=failed), self.RECEIPT, "uid-x")
        assert (observation.state, observation.message) == ("Failed", "DeadlineExceeded: too late")


class TestRequests:
    async def facts(self, cluster: OpenBaoCluster) -> tuple[bool, list[str]]:
        api = FakeApi()
        facts = await UpgradeObserver(api, bytes).facts(cluster)
        return facts.blue_green is not None, api.take_requests()

    async def test_an_idle_cluster_causes_no_requests(self) -> None:
        quiet = gen.cluster(upgrade={"strategy": "BlueGreen"}).initialized()
        for cluster in (
            quiet,
            quiet.with_status(blueGreen={"phase": "Idle", "blueRevision": GREEN}),
            quiet.with_spec(paused=True, version="2.5.0").with_status(release={"version": "2.4.0"}),
        ):
            assert await self.facts(cluster.read()) == (False, [])

    async def test_a_paused_upgrade_causes_no_requests(self) -> None:
        paused = cluster_in_phase("Syncing")
        paused = paused.model_copy(update={"spec": paused.spec.model_copy(update={"paused": True})})
        assert await self.facts(paused) == (False, [])

    async def test_an_active_upgrade_is_observed(self) -> None:
        looked, requests = await self.facts(cluster_in_phase("Syncing"))
        assert looked
        assert len(requests) == 2
