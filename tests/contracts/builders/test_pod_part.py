"""contracts.builders.pod_part: parts keep their order, and duplicates are refused."""

import pytest

from contracts.builders.pod_part import PodPart

SEAL = PodPart(
    env=({"name": "TOKEN_FILE", "value": "/x"},),
    mounts=({"name": "creds", "mountPath": "/etc/creds"},),
    volumes=({"name": "creds", "secret": {"secretName": "s"}},),
)
METRICS = PodPart(ports=({"name": "metrics", "containerPort": 9000},))


def test_parts_keep_their_order() -> None:
    both = PodPart.merged([SEAL, METRICS, PodPart(env=({"name": "LATER", "value": "y"},))])
    assert [item["name"] for item in both.env] == ["TOKEN_FILE", "LATER"]
    assert both.ports == METRICS.ports
    assert both.volumes == SEAL.volumes


def test_no_parts_merge_to_an_empty_part() -> None:
    assert PodPart.merged([]) == PodPart()


def test_one_volume_may_be_mounted_twice() -> None:
    again = PodPart(mounts=({"name": "creds", "mountPath": "/elsewhere"},))
    assert len(PodPart.merged([SEAL, again]).mounts) == 2


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (PodPart(env=({"name": "TOKEN_FILE", "value": "z"},)), "env TOKEN_FILE"),
        (PodPart(mounts=({"name": "other", "mountPath": "/etc/creds"},)), "mounts /etc/creds"),
        (PodPart(volumes=({"name": "creds", "emptyDir": {}},)), "volumes creds"),
    ],
)
def test_duplicates_in_two_parts_are_refused(part: PodPart, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PodPart.merged([SEAL, part])
