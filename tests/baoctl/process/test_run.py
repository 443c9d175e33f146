"""baoctl.process.run: how a process ends, as its exit status."""

import pytest

from baoctl.process import run
from baoctl.settings import Settings, from_environment
from runtime.clock import Clock
from runtime.errors import LeaseLost, NotFound, StatusInfo, TransportError
from runtime.process.manager import RunnableCrashed

SETTINGS = from_environment({"LOG_LEVEL": "error"})

# sentence: (exception of the manager, exit status)
ENDS: dict[str, tuple[Exception | None, int | None]] = {
    "a signal is a clean end": (None, None),
    "another leader is an error": (LeaseLost("the lease is theirs"), 1),
    "a crashed part is an error": (RunnableCrashed("informers", "KeyError"), 1),
    "an API server that is silent is an error": (TransportError("connection refused"), 1),
    "an API server that refuses is an error": (NotFound(StatusInfo(404)), 1),
}


@pytest.mark.parametrize(("end", "status"), ENDS.values(), ids=ENDS.keys())
def test_exit_status(
    monkeypatch: pytest.MonkeyPatch, end: Exception | None, status: int | None
) -> None:
    async def operator(settings: Settings, clock: Clock) -> None:
        assert settings is SETTINGS
        if end is not None:
            raise end

    monkeypatch.setattr(run, "run", operator)
    if status is None:
        run.run_operator(SETTINGS)
        return
    with pytest.raises(SystemExit) as ended:
        run.run_operator(SETTINGS)
    assert ended.value.code == status


def test_an_unexpected_exception_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    async def operator(settings: Settings, clock: Clock) -> None:
        raise KeyError("bug")

    monkeypatch.setattr(run, "run", operator)
    with pytest.raises(KeyError, match="bug"):
        run.run_operator(SETTINGS)
