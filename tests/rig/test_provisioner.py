"""What the provisioner makes of an error: a refusal is noted, a fault is tried again."""

import pytest

from e2e.rig.kube import ApiError, Object
from e2e.rig.provisioner import attempt

CLAIM: Object = {"metadata": {"name": "data-0"}}


def test_a_refusal_does_not_keep_the_next_claim_waiting(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(_item: Object) -> None:
        raise ApiError(422, "bad access mode")

    attempt(refuse, CLAIM)
    assert "data-0: 422: bad access mode" in capsys.readouterr().err


@pytest.mark.parametrize("error", [ApiError(503, "starting"), ConnectionRefusedError()])
def test_a_fault_ends_the_watch_so_that_a_fresh_list_follows(error: Exception) -> None:
    def fail(_item: Object) -> None:
        raise error

    with pytest.raises(type(error)):
        attempt(fail, CLAIM)
