"""contracts.server_features: the features of each server version."""

import re
from pathlib import Path

import pytest

from contracts.server_features import FEATURES, offers, reports_health, since

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("feature", sorted(FEATURES))
def test_a_feature_is_available_from_its_first_version(feature: str) -> None:
    first = since(feature)
    assert offers(first, feature)
    assert offers(f"v{first}", feature)
    major, minor, patch = map(int, first.split("."))
    older = f"{major}.{minor}.{patch - 1}" if patch else f"{major}.{minor - 1}.99"
    if minor:
        assert not offers(older, feature)


def test_a_pre_release_counts_as_its_release() -> None:
    assert offers("2.5.0-beta20251125", "plugin-stanza")
    assert not offers("2.4.4+hsm", "plugin-stanza")


def test_a_removed_feature_is_not_available() -> None:
    assert offers("2.6.4", "built-in-cloud-kms")
    assert not offers("2.7.0", "built-in-cloud-kms")


@pytest.mark.parametrize("text", ["", "latest", "2", "2.5", "2.5.0.1"])
def test_an_invalid_version_has_no_feature(text: str) -> None:
    assert not offers(text, "self-init")


# (follower, leader, whether it reports its health): measured on real servers, except 2.6.3.
HEARD = (
    ("2.4.0", "2.4.0", True),
    ("2.6.2", "2.6.1", True),
    ("2.6.2", "2.7.2", True),
    ("2.7.2", "2.6.2", True),
    ("2.6.2", "2.4.0", False),
    ("2.4.0", "2.6.2", False),
    ("2.4.0", "2.7.2", False),
    ("2.7.2", "2.4.0", True),
    ("2.6.3", "2.5.5", True),
    ("", "2.4.0", True),
    ("2.6.2", "", True),
)


@pytest.mark.parametrize(("follower", "leader", "is_reachable"), HEARD)
def test_whether_a_follower_reports_its_health_to_the_leader(
    follower: str, leader: str, is_reachable: bool
) -> None:
    assert reports_health(follower, leader) is is_reachable


def test_an_unknown_feature_is_an_error() -> None:
    with pytest.raises(KeyError):
        offers("2.5.0", "teleport")


def test_every_row_has_a_source_and_a_user() -> None:
    """A row without a user would be dead code."""
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("contracts", "managers")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "versions.py"
    )
    for feature, row in FEATURES.items():
        assert row.source
        assert re.search(rf'"{feature}"', code), feature
