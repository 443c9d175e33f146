"""The decisions of the provisioner about a PVC."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from e2e.rig.storage import (
    PROVISIONER,
    quantity,
    requested_expansion,
    storage_class,
    volume,
    wants_volume,
)

QUANTITIES = {
    "1": 1,
    "1Ki": 1024,
    "1.5Gi": 3 * 2**29,
    "500M": 500_000_000,
    "1e9": 10**9,
    "2k": 2000,
    "1E": 10**18,
    "1Ei": 2**60,
}


@pytest.mark.parametrize("text", QUANTITIES)
def test_quantity(text: str) -> None:
    assert quantity(text) == QUANTITIES[text]


def test_quantity_below_one() -> None:
    assert quantity("100m") == Decimal("0.1")


def _claim(requested: str = "1Gi", granted: str | None = None) -> dict[str, Any]:
    status = {"capacity": {"storage": granted}} if granted else {"phase": "Pending"}
    return {
        "metadata": {"namespace": "ns", "name": "data-0", "uid": "u-1"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": requested}},
        },
        "status": status,
    }


GROWTH: dict[str, tuple[str, str | None, str | None]] = {
    "a pending claim has not grown": ("1Gi", None, None),
    "an equal size has not grown": ("1Gi", "1Gi", None),
    "an equal size in another unit has not grown": ("1024Mi", "1Gi", None),
    "a larger size has grown": ("2Gi", "1Gi", "2Gi"),
    "a smaller size has not grown": ("1Gi", "2Gi", None),
}


@pytest.mark.parametrize("case", GROWTH)
def test_grown(case: str) -> None:
    requests, granted, expected = GROWTH[case]
    assert requested_expansion(_claim(requests, granted)) == expected


def test_a_volume_is_bound_by_uid_and_follows_the_policy_of_its_class() -> None:
    kind = {**storage_class(), "reclaimPolicy": "Retain"}
    persistent_volume = volume(_claim(), kind, Path("/v"))
    assert persistent_volume["spec"]["claimRef"]["uid"] == "u-1"
    assert persistent_volume["spec"]["local"]["path"] == "/v/pvc-u-1"
    assert persistent_volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert persistent_volume["spec"]["capacity"] == {"storage": "1Gi"}


def test_a_claim_of_our_class_gets_a_volume_when_its_binding_mode_permits() -> None:
    ours = storage_class()
    late = {**ours, "volumeBindingMode": "WaitForFirstConsumer"}
    claim, scheduled, block = _claim(), _claim(), _claim()
    scheduled["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": "rig-node"}
    block["spec"]["volumeMode"] = "Block"
    assert ours["provisioner"] == PROVISIONER
    assert wants_volume(claim, ours)
    assert not wants_volume(claim, {**ours, "provisioner": "another"})
    assert not wants_volume(claim, late)
    assert wants_volume(scheduled, late)
    assert not wants_volume(block, ours)
