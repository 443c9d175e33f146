"""contracts.retention: the limit that removes a snapshot."""

from datetime import UTC, datetime, timedelta

import pytest

from contracts.retention import Limit, RetentionCandidate, RetentionLimits, exceeded_limits

NOW = datetime(2030, 1, 10, tzinfo=UTC)
DAY = timedelta(days=1)


def daily(count: int, *protected: int) -> list[RetentionCandidate]:
    """Snapshots of the last days, the newest first; `protected` are indexes."""
    return [RetentionCandidate(NOW - DAY * n, n in protected) for n in range(count)]


# sentence: (snapshots, limits, the limit that each exceeds)
ROWS: dict[str, tuple[list[RetentionCandidate], RetentionLimits, list[Limit | None]]] = {
    "no snapshot": ([], RetentionLimits(1, DAY), []),
    "no limit": (daily(2), RetentionLimits(), [None, None]),
    "the count": (daily(3), RetentionLimits(2), [None, None, "maxCount"]),
    "the age, of which exactly the limit is retained": (
        daily(3), RetentionLimits(max_age=DAY), [None, None, "maxAge"]
    ),
    "both: the count is named": (daily(2), RetentionLimits(1, DAY / 2), [None, "maxCount"]),
    "the newest is retained, however old it is": (
        [RetentionCandidate(NOW - 9 * DAY)], RetentionLimits(1, DAY), [None]
    ),
    "a protected one is retained and counts": (
        daily(3, 1), RetentionLimits(1, DAY), [None, None, "maxCount"]
    ),
    "an unknown age has no limit": (
        [*daily(1), RetentionCandidate(None)], RetentionLimits(max_age=DAY), [None, None]
    ),
}  # fmt: skip


@pytest.mark.parametrize(("snapshots", "limits", "exceeded"), ROWS.values(), ids=ROWS)
def test_row(
    snapshots: list[RetentionCandidate], limits: RetentionLimits, exceeded: list[Limit | None]
) -> None:
    assert list(exceeded_limits(snapshots, limits, NOW)) == exceeded


def test_without_a_time_no_age_is_exceeded() -> None:
    assert exceeded_limits(daily(2), RetentionLimits(max_age=DAY / 2), None) == (None, None)
