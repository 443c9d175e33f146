"""Errors of the API server: exit status and next step of each."""

from __future__ import annotations

import pytest

from baoctl.commands.api_client import error_of
from baoctl.exit_codes import MEANINGS, ExitCode
from runtime.errors import (
    ApiError,
    ApplyConflict,
    Forbidden,
    Invalid,
    NotFound,
    QuotaExceeded,
    ServerError,
    StatusInfo,
    TransportError,
    Unauthorized,
)


def answer(kind: type[ApiError], message: str = "no", code: int = 400) -> ApiError:
    return kind(StatusInfo(code=code, reason="x", message=message))


# sentence: (error, exit status)
ANSWERS: dict[str, tuple[ApiError | TransportError, ExitCode]] = {
    "not there": (answer(NotFound), ExitCode.NOT_FOUND),
    "unknown": (answer(Unauthorized), ExitCode.NO_ACCESS),
    "a missing right": (answer(Forbidden), ExitCode.NO_ACCESS),
    "rejected by a policy": (
        answer(Forbidden, "ValidatingAdmissionPolicy 'a' denied request: b"), ExitCode.REFUSED,
    ),
    "beyond the quota": (answer(QuotaExceeded), ExitCode.REFUSED),
    "invalid": (answer(Invalid), ExitCode.REFUSED),
    "owned by another": (answer(ApplyConflict), ExitCode.REFUSED),
    "broken": (answer(ServerError), ExitCode.ERROR),
    "away": (TransportError("no route"), ExitCode.NO_ACCESS),
}  # fmt: skip


@pytest.mark.parametrize(("error", "code"), ANSWERS.values(), ids=ANSWERS.keys())
def test_an_api_error_has_an_exit_status_and_a_next_step(
    error: ApiError | TransportError, code: ExitCode
) -> None:
    request_error = error_of(error)
    assert request_error.exit_code is code
    assert "; " in str(request_error)
    assert "\n" not in str(request_error)


def test_every_exit_status_is_documented() -> None:
    assert list(MEANINGS) == list(ExitCode)
