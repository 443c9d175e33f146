"""managers.jobs.status: the status of a Job, and the rights of the account of one run."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contracts.api.group import BACKUPS, CLUSTERS, RESTORE_KIND, RESTORES
from contracts.jobs.cloud_identity import ADDRESSES
from contracts.naming import labels
from managers.jobs.status import (
    START_PATIENCE,
    STOP_PATIENCE,
    JobObservation,
    Rights,
    job_observation,
    rights_objects,
)
from runtime.builtin_kinds import NETWORK_POLICY
from tests.gen.job_templates import RUN
from tests.managers.jobs.statuses import ACTIVE, MADE
from tests.managers.networking.evaluator import Peer, Policy

ENDED = "2026-01-01T03:00:04Z"
FINISHED = datetime(2026, 1, 1, 3, 0, 4, tzinfo=UTC)
COMPLETE = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T03:00:09Z"}
FAILED = {
    "type": "Failed",
    "status": "True",
    "lastTransitionTime": ENDED,
    "reason": "DeadlineExceeded",
    "message": "Job was active longer than specified deadline",
}


def job(owner: str | None = RUN.uid, **status: Any) -> dict[str, Any]:
    kind = {"apiVersion": "openbao.org/v1alpha1", "kind": "OpenBaoBackup"}
    owners = [{**kind, "controller": True, "name": "n", "uid": owner}]
    metadata: dict[str, Any] = {"name": "backup-nightly", "uid": "u", "creationTimestamp": MADE}
    if owner:
        metadata["ownerReferences"] = owners
    return {"metadata": metadata, "status": status}


# sentence: (status, state, ready, finished, reason)
STATES: dict[str, tuple[dict[str, Any], str, bool, datetime | None, str]] = {
    "no status yet": ({}, "Active", False, None, ""),
    "its pod waits": ({"active": 1, "ready": 0}, "Active", False, None, ""),
    "its pod runs": ({"active": 1, "ready": 1}, "Active", True, None, ""),
    "a pod failed without a condition": ({"failed": 1}, "Active", False, None, ""),
    "the pod still terminates": (
        {"conditions": [{**FAILED, "type": "FailureTarget"}]},
        "Active",
        False,
        None,
        "",
    ),
    "a false condition": (
        {"conditions": [{**COMPLETE, "status": "False"}]},
        "Active",
        False,
        None,
        "",
    ),
    "complete": (
        {"succeeded": 1, "completionTime": ENDED, "conditions": [COMPLETE]},
        "Succeeded",
        False,
        FINISHED,
        "",
    ),
    "failed": (
        {"failed": 1, "conditions": [FAILED]},
        "Failed",
        False,
        FINISHED,
        "DeadlineExceeded",
    ),
}


@pytest.mark.parametrize(
    ("status", "state", "ready", "finished", "reason"), STATES.values(), ids=STATES.keys()
)
def test_the_state_of_a_job(
    status: dict[str, Any], state: str, ready: bool, finished: datetime | None, reason: str
) -> None:
    observation = job_observation(job(**status), RUN.uid)
    assert (observation.uid, observation.state, observation.ready) == ("u", state, ready)
    assert (observation.finished_at, observation.reason) == (finished, reason)
    assert bool(observation.message) is bool(reason)
    assert not observation.foreign


@pytest.mark.parametrize("owner", [None, "uid-of-another"])
def test_a_job_that_the_run_does_not_control_is_foreign(owner: str | None) -> None:
    assert job_observation(job(owner), RUN.uid).foreign


LATE = START_PATIENCE + timedelta(seconds=1)


# sentence: (observed Job, age of the Job, whether its pod is overdue)
STARTS: dict[str, tuple[JobObservation, timedelta, bool]] = {
    "just created": (ACTIVE, timedelta(), False),
    "within the start limit": (ACTIVE, START_PATIENCE, False),
    "beyond the start limit": (ACTIVE, LATE, True),
    "it runs": (replace(ACTIVE, ready=True), LATE, False),
    "ended": (replace(ACTIVE, state="Failed"), LATE, False),
    "without a creation time": (replace(ACTIVE, created_at=None), LATE, False),
    "stopped within the grace period": (replace(ACTIVE, stopping=True), LATE, False),
    "stopped on a lost node": (
        replace(ACTIVE, stopping=True), STOP_PATIENCE + timedelta(seconds=1), True,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("observation", "after", "overdue"), STARTS.values(), ids=STARTS.keys())
def test_a_pod_that_does_not_start_is_reported(
    observation: JobObservation, after: timedelta, overdue: bool
) -> None:
    assert observation.unstarted(datetime.fromisoformat(MADE) + after) is overdue


STOPS: dict[str, dict[str, Any]] = {
    "it was evicted": {"ready": 0, "terminating": 1},
    "failed": {"ready": 0, "failed": 1},
    "it ended, and is not counted yet": {"uncountedTerminatedPods": {"succeeded": ["uid"]}},
    "its deadline has passed": {"conditions": [{"type": "FailureTarget", "status": "True"}]},
}


@pytest.mark.parametrize("sentence", STOPS)
def test_a_pod_that_ends_was_started(sentence: str) -> None:
    observation = job_observation(job(**STOPS[sentence]), RUN.uid)
    assert (observation.state, observation.stopping) == ("Active", True)
    assert not observation.unstarted(datetime.fromisoformat(MADE) + LATE)


def test_a_pod_that_runs_or_waits_does_not_end() -> None:
    for status in ({"active": 1, "ready": 1}, {"active": 1, "uncountedTerminatedPods": {}}, {}):
        assert not job_observation(job(**status), RUN.uid).stopping


RIGHTS = Rights("x", "backup-nightly", "x-backup-serviceaccount", BACKUPS)


def test_a_run_may_only_read_its_object_and_write_its_status() -> None:
    role, binding = rights_objects(RUN, RIGHTS)
    assert role.body["rules"] == [
        {
            "apiGroups": ["openbao.org"],
            "resources": ["openbaobackups"],
            "resourceNames": ["nightly"],
            "verbs": ["get"],
        },
        {
            "apiGroups": ["openbao.org"],
            "resources": ["openbaobackups/status"],
            "resourceNames": ["nightly"],
            "verbs": ["get", "patch"],
        },
    ]
    assert role.key == binding.key == (RUN.namespace, "backup-nightly")
    assert binding.body["roleRef"]["name"] == "backup-nightly"
    (subject,) = binding.body["subjects"]
    assert subject == {
        "kind": "ServiceAccount",
        "name": "x-backup-serviceaccount",
        "namespace": RUN.namespace,
    }


def test_the_rights_of_a_restore_are_labeled_as_its_own() -> None:
    run = replace(RUN, kind=RESTORE_KIND)
    for intent in rights_objects(run, replace(RIGHTS, resource=RESTORES)):
        assert intent.body["metadata"]["labels"]["openbao.org/component"] == "restore"


def test_only_the_pod_of_the_job_may_reach_the_cloud_metadata() -> None:
    *_, policy = rights_objects(RUN, replace(RIGHTS, metadata=ADDRESSES["gcs"]))
    assert policy.resource == NETWORK_POLICY
    assert policy.key == (RUN.namespace, "backup-nightly")
    judged = Policy(policy.body)
    # Labels of every pod of a Job: from contracts.builders.job and the Job controller.
    own = {**labels.component("x", "backup"), "batch.kubernetes.io/job-name": "backup-nightly"}
    assert judged.selects(Peer(RUN.namespace, own))
    for other in (
        {**own, "batch.kubernetes.io/job-name": "backup-by-hand"},
        {**own, labels.CLUSTER: "y"},
        labels.server_pod("x"),
    ):
        assert not judged.selects(Peer(RUN.namespace, other))
    metadata, agent = Peer(address="169.254.169.254"), Peer(address="169.254.169.252")
    assert judged.lets_out(metadata, 80)
    assert judged.lets_out(agent, 988)
    for peer, port in ((metadata, 443), (agent, 80), (Peer(address="169.254.170.23"), 80)):
        assert not judged.lets_out(peer, port)


def test_a_run_with_a_login_has_no_policy() -> None:
    assert NETWORK_POLICY not in {rights_obj.resource for rights_obj in rights_objects(RUN, RIGHTS)}


def test_rights_on_another_object_are_refused() -> None:
    with pytest.raises(ValueError, match="OpenBaoCluster"):
        rights_objects(RUN, replace(RIGHTS, resource=CLUSTERS))
