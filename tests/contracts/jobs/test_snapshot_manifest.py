"""The manifest beside a snapshot."""

import json
from typing import Any

import pytest

from contracts.jobs.snapshot_manifest import (
    FORMAT,
    MANIFEST_MAX,
    Manifest,
    ManifestError,
    may_open,
    read_manifest,
)

MANIFEST = Manifest(
    key="n/c/2026-01-15T03-00-00Z-0a1b2c3d.snap", size=5, digest="sha256:ab", cluster_id="id",
    version="2.4.0", index=7, term=2, namespace="n", cluster="c", cluster_uid="uid", backup="b",
    taken_at="2026-01-15T03:00:00+00:00", seal="static:1", mounts="sha256:cd",
    canary="sha256:ef", canary_path="kv/canary",
)  # fmt: skip


def test_a_manifest_survives_a_round_trip() -> None:
    assert read_manifest(MANIFEST.to_bytes()) == MANIFEST


def test_field_names_are_those_of_the_api() -> None:
    document = json.loads(MANIFEST.to_bytes())
    assert document["format"] == FORMAT
    assert document["clusterID"] == "id"
    assert document["clusterUID"] == "uid"
    assert document["takenAt"] == "2026-01-15T03:00:00+00:00"
    assert document["canaryPath"] == "kv/canary"


def test_unknown_fields_are_ignored() -> None:
    document = json.loads(MANIFEST.to_bytes()) | {"more": [1]}
    assert read_manifest(json.dumps(document).encode()) == MANIFEST


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"}, {"size": "5"}, {"size": True}, {"size": -1}, {"key": None},
        {"takenAt": "yesterday"}, {"takenAt": "2026-01-15T03:00:00"}, {"seal": 5},
    ],
    ids=str,
)  # fmt: skip
def test_a_document_with_a_wrong_field_is_refused(change: dict[str, Any]) -> None:
    document = json.loads(MANIFEST.to_bytes()) | change
    with pytest.raises(ManifestError):
        read_manifest(json.dumps(document).encode())


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff", b" " * (MANIFEST_MAX + 1), b"[" * MANIFEST_MAX],
    ids=["nothing", "a part", "a list", "bytes", "too much", "without end"],
)
def test_bytes_that_are_no_manifest_are_refused(content: bytes) -> None:
    with pytest.raises(ManifestError):
        read_manifest(content)


@pytest.mark.parametrize(
    ("one", "other", "fits"),
    [
        ("static:k1@aa", "static:k1@aa", True),
        ("static:k1@aa", "static:k1", True),
        ("static:k1", "static:k1@aa", True),
        ("", "static:k1@aa", True),
        ("static:k1@aa", "", True),
        ("static:k1@aa", "static:k1@bb", False),
        ("static:k1@aa", "static:k2@aa", False),
        ("static:k1", "awskms:k1", False),
    ],
)
def test_a_less_specific_seal_matches(one: str, other: str, *, fits: bool) -> None:
    assert may_open(one, other) is fits
