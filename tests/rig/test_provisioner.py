"""Errors in the provisioner: a rejected request is logged, other errors are retried."""

import pytest

from e2e.rig.kube import ApiError, Object
from e2e.rig.provisioner import attempt

CLAIM: Object = {"metadata": {"name": "data-0"}}


def test_a_rejected_claim_does_not_block_the_next_one(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(_item: Object) -> None:
        raise ApiError(422, "bad access mode")

    attempt(refuse, CLAIM)
    assert "data-0: 422: bad access mode" in capsys.readouterr().err


@pytest.mark.parametrize("error", [ApiError(503, "starting"), ConnectionRefusedError()])
def test_another_error_restarts_the_watch(error: Exception) -> None:
    def fail(_item: Object) -> None:
        raise error

    with pytest.raises(type(error)):
        attempt(fail, CLAIM)
