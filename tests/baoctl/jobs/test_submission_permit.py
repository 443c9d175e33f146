"""baoctl.jobs.submission_permit: a permit is granted once, by the API server."""

from datetime import timedelta

import pytest

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.submission_permit import SubmissionPermit, take_claim
from contracts.api.group import RESTORES
from contracts.api.job_result import SubmissionClaim
from contracts.jobs.env import RunEnv
from runtime.errors import TransportError
from runtime.types import Object, ObjectKey
from tests.baoctl.jobs.fake_raft import ImmediateClock
from tests.gen.api import Call, FakeApi, api_error
from tests.managers.restore.situations import at, restore_object

RUN = RunEnv("openbaorestores", "team-a", "monday", restore_object()["metadata"]["uid"],
             "pod", "pod-uid", "job-uid")  # fmt: skip
CLAIM = SubmissionClaim(pod_uid="pod-uid", pod_name="pod", digest="sha256:0", size=1)
WRITE = "apply/status OpenBaoRestore monday"


class LosesAnswers(FakeApi):
    """Executes one write and loses the response."""

    lost = 1

    async def answering(self, call: Call) -> None:
        if self.lost and str(call) == WRITE:
            self.lost -= 1
            raise TransportError("no answer")


def permit(
    status: Object, api: FakeApi | None = None, minutes: float = 1
) -> tuple[FakeApi, SubmissionPermit]:
    api, clock = api or FakeApi(), ImmediateClock()
    api.with_objects((RESTORES, restore_object(status)))
    return api, SubmissionPermit(api, clock, RUN, clock.now() + timedelta(minutes=minutes))


def live_permit(api: FakeApi) -> Object | None:
    live = api.objects[(RESTORES, ObjectKey("team-a", "monday"))]
    claim: Object | None = live["status"].get("submissionClaim")
    return claim


async def test_a_permit_is_taken_once() -> None:
    api, requests = permit(at("Created"))
    await take_claim(requests, CLAIM)
    assert (live_permit(api) or {})["podUID"] == "pod-uid"
    with pytest.raises(JobFailure, match="already has the claim"):
        await take_claim(requests, CLAIM)


async def test_a_lost_response_is_resolved_by_a_read() -> None:
    api, requests = permit(at("Created"), LosesAnswers())
    await take_claim(requests, CLAIM)
    assert api.take_requests().count(WRITE) == 1


async def test_a_conflict_is_retried() -> None:
    api, requests = permit(at("Created"))
    api.refuse(WRITE, api_error(409))
    await take_claim(requests, CLAIM)
    assert live_permit(api)


async def test_the_wait_for_the_permit_has_a_deadline() -> None:
    api, requests = permit(at("Committed"))
    with pytest.raises(JobFailure, match="the deadline has passed"):
        await take_claim(requests, CLAIM)
    assert live_permit(api) is None


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ({"phase": "Failed", "message": "the lock was lost"}, "is Failed: the lock was lost"),
        (at("TerminalObserved"), "is in stage TerminalObserved"),
        (
            {**at("Created"), "execution": {**at("Created")["execution"], "jobUID": "other"}},
            "other",
        ),
    ],
)
async def test_a_refused_permit_reports_the_reason(status: Object, message: str) -> None:
    api, requests = permit(status)
    with pytest.raises(JobFailure, match=message):
        await take_claim(requests, CLAIM)
    assert live_permit(api) is None
