"""managers.upgrade.version_matrix: the verdict on each pair of versions."""

import pytest
import semver
from hypothesis import given
from hypothesis import strategies as st

from contracts.api.cluster.seal import SealType
from contracts.api.cluster.upgrade import Strategy
from managers.upgrade.version_matrix import (
    PAIRS,
    Grade,
    PairVerdict,
    evaluate_pair,
    parse,
    succession,
)

ROLLING: Strategy = "RollingUpdate"
GREEN: Strategy = "BlueGreen"


def pair_verdict(
    before: str, after: str, strategy: Strategy = ROLLING, seal: SealType = "static"
) -> PairVerdict:
    return evaluate_pair(semver.Version.parse(before), semver.Version.parse(after), strategy, seal)


# sentence: (from, to, strategy, seal, grade, a word of the message; "" for none)
ROWS: dict[str, tuple[str, str, Strategy, SealType, Grade, str]] = {
    "a patch of the same minor": ("2.5.3", "2.5.5", ROLLING, "static", "good", ""),
    "a tested pair": ("2.4.4", "2.5.5", ROLLING, "static", "good", ""),
    "a tested pair with blue/green": ("2.4.4", "2.5.5", GREEN, "static", "good", ""),
    "an unknown pair": (
        "2.3.0", "2.4.4", ROLLING, "static", "warn", "this operator does not know",
    ),
    "a new standby that cannot forward": (
        "2.5.4", "2.6.2", ROLLING, "static", "warn", "do not forward",
    ),
    "green cannot be promoted over 2.6": (
        "2.5.5", "2.6.0", GREEN, "static", "refuse", "RollingUpdate first",
    ),
    "green cannot be promoted from 2.4 to 2.7": (
        "2.4.4", "2.7.1", GREEN, "static", "refuse", "RollingUpdate first",
    ),
    "green may go on within 2.6": ("2.6.0", "2.6.4", GREEN, "static", "good", ""),
    "a pre-release counts as its release": (
        "2.5.5", "2.6.0-beta20260622", GREEN, "static", "refuse", "RollingUpdate first",
    ),
    "2.5.0 and a key service of a cloud": (
        "2.4.4", "2.5.0", ROLLING, "awskms", "refuse", "2.5.1 or newer",
    ),
    "2.5.0 and a static seal": (
        "2.4.4", "2.5.0", ROLLING, "static", "warn", "does not know",
    ),
    "2.5.1 and a key service of a cloud": ("2.4.4", "2.5.1", ROLLING, "awskms", "good", ""),
    "plugins of 2.7": ("2.6.4", "2.7.1", ROLLING, "static", "warn", "LDAP"),
    "blue of 2.6 cannot lead after green of 2.7": (
        "2.6.2", "2.7.2", GREEN, "static", "warn", "once green leads, no rollback is possible",
    ),
    "a skipped minor": (
        "2.4.4", "2.6.4", ROLLING, "static", "warn", "1 minor release between",
    ),
    "two skipped minors": (
        "2.4.4", "2.7.1", ROLLING, "static", "warn", "2 minor releases between",
    ),
    "another major": ("2.7.1", "3.0.0", ROLLING, "static", "warn", "new major version"),
    "a pre-release": ("2.5.4", "2.5.5-rc1", ROLLING, "static", "warn", "is a pre-release"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "strategy", "seal", "grade", "message"), ROWS.values(), ids=ROWS.keys()
)
def test_the_verdict_of_each_pair(
    before: str, after: str, strategy: Strategy, seal: SealType, grade: Grade, message: str
) -> None:
    verdict = pair_verdict(before, after, strategy, seal)
    text = "; ".join((*verdict.refusals, *verdict.warnings))
    assert (verdict.grade, message in text, bool(text)) == (grade, True, bool(message))


def test_every_row_of_the_catalog_has_a_case() -> None:
    spoken = {
        source
        for before, after, strategy, seal, _, _ in ROWS.values()
        for source in pair_verdict(before, after, strategy, seal).sources
    }
    assert {pair.source for pair in PAIRS} <= spoken


def test_every_row_has_a_source_and_a_reason() -> None:
    assert [pair for pair in PAIRS if not pair.source or not pair.why] == []


# sentence: (the release of the successor, the release of the former leader, grade)
SUCCESSIONS: dict[str, tuple[str, str, str]] = {
    "the same release": ("2.7.2", "2.7.2", "possible"),
    "a newer release": ("2.7.2", "2.6.2", "possible"),
    "an older patch of one minor": ("2.7.1", "2.7.2", "possible"),
    "an older patch of a minor before the limit": ("2.6.1", "2.6.2", "possible"),
    "2.6 after 2.7": ("2.6.2", "2.7.0", "impossible"),
    "2.4 after 2.7": ("2.4.0", "2.7.2", "impossible"),
    "2.6 after a release later than 2.7": ("2.6.2", "2.8.0", "impossible"),
    "a pre-release counts as its release": ("2.6.2", "2.7.0-beta1", "impossible"),
    "an older minor without a row": ("2.5.5", "2.6.2", "untested"),
    "2.7 after 2.8": ("2.7.2", "2.8.0", "untested"),
    "an unknown successor": ("", "2.7.2", "untested"),
    "an unknown leader": ("2.7.2", "", "untested"),
    "no version": ("main", "2.7.2", "untested"),
}


@pytest.mark.parametrize(
    ("version", "led_by", "grade"), SUCCESSIONS.values(), ids=SUCCESSIONS.keys()
)
def test_which_release_can_lead_after_which(version: str, led_by: str, grade: str) -> None:
    verdict = succession(version, led_by)
    assert verdict.grade == grade
    assert bool(verdict.why) is (grade != "possible")


numbers = st.builds(semver.Version, st.integers(0, 4), st.integers(0, 9), st.integers(0, 9))


@given(numbers, numbers)
def test_an_unknown_pair_is_never_refused(before: semver.Version, after: semver.Version) -> None:
    verdict = evaluate_pair(before, after, "BlueGreen", "awskms")
    assert verdict.grade != "refuse" or verdict.sources


@pytest.mark.parametrize(
    ("text", "read"),
    [("v2.5.5", "2.5.5"), ("2.6.0-beta20260622", "2.6.0-beta20260622"), ("2.5", None)],
)
def test_versions_are_read_with_and_without_a_v(text: str, read: str | None) -> None:
    assert parse(text) == (None if read is None else semver.Version.parse(read))
