"""The report of a Job is written to its object, or not written for a known reason."""

from pathlib import Path

import pytest

from baoctl.jobs.report import PAUSES, ObjectGone, write_status
from baoctl.jobs.termination_log import write_termination_message
from contracts.api.group import BACKUPS, RESTORES
from contracts.api.job_result import EXECUTOR_MANAGER
from contracts.jobs.env import RunEnv
from runtime.client.client import ApplyResult
from runtime.errors import ApiError, Conflict, Forbidden, NotFound, StatusInfo, TransportError
from runtime.types import Object, Resource
from tests.baoctl.jobs.fake_raft import ImmediateClock

RUN = RunEnv("openbaobackups", "ns", "nightly", "uid-1")


class Answers:
    """An API server that answers applies from a list, and then repeats the last answer."""

    def __init__(self, *answers: Exception | None) -> None:
        self.answers = list(answers)
        self.requests: list[tuple[Resource, Object]] = []

    async def apply(
        self,
        resource: Resource,
        body: Object,
        *,
        field_manager: str,
        force: bool,
        subresource: str | None = None,
    ) -> ApplyResult:
        assert (field_manager, force, subresource) == (EXECUTOR_MANAGER, True, "status")
        self.requests.append((resource, body))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is not None:
            raise answer
        return ApplyResult(body, created=False)


async def test_the_report_is_written_with_the_uid_as_precondition() -> None:
    api, clock = Answers(None), ImmediateClock()
    await write_status(api, clock, RUN, {"report": {"outcome": "Succeeded"}})
    ((resource, body),) = api.requests
    assert resource == BACKUPS
    assert body["metadata"] == {"name": "nightly", "namespace": "ns", "uid": "uid-1"}
    assert body["status"] == {"report": {"outcome": "Succeeded"}}


async def test_the_report_of_a_restore_is_written_to_the_openbaorestore() -> None:
    api = Answers(None)
    await write_status(api, ImmediateClock(), RunEnv("openbaorestores", "ns", "n", "u"), {})
    assert api.requests[0][0] == RESTORES


async def test_a_write_is_retried_while_the_api_server_restarts() -> None:
    api, clock = Answers(TransportError("away"), TransportError("away"), None), ImmediateClock()
    await write_status(api, clock, RUN, {})
    assert len(api.requests) == 3
    assert clock.monotonic() == pytest.approx(sum(PAUSES[:2]))


async def test_retries_are_limited() -> None:
    api, clock = Answers(TransportError("away")), ImmediateClock()
    with pytest.raises(TransportError):
        await write_status(api, clock, RUN, {})
    assert len(api.requests) == len(PAUSES) + 1


@pytest.mark.parametrize("kind", [NotFound, Conflict])
async def test_a_deleted_or_recreated_object_gets_no_report(kind: type[ApiError]) -> None:
    api = Answers(kind(StatusInfo(404)))
    with pytest.raises(ObjectGone, match="ns/nightly"):
        await write_status(api, ImmediateClock(), RUN, {})
    assert len(api.requests) == 1


async def test_a_forbidden_write_is_not_retried() -> None:
    api = Answers(Forbidden(StatusInfo(403)))
    with pytest.raises(Forbidden):
        await write_status(api, ImmediateClock(), RUN, {})
    assert len(api.requests) == 1


def test_the_termination_message_is_bounded_and_never_fails(tmp_path: Path) -> None:
    write_termination_message("x" * 10_000, tmp_path / "log")
    assert len((tmp_path / "log").read_text()) == 4000
    write_termination_message("lost", tmp_path / "no" / "folder")
