"""Schedules: five fields of cron, and how often they are due."""

import pytest

from contracts.api.cron import parse


@pytest.mark.parametrize(
    ("text", "minutes", "hours", "days", "months", "weekdays"),
    [
        ("0 3 * * *", {0}, {3}, set(range(1, 32)), set(range(1, 13)), set(range(7))),
        ("*/15 0-2 1,15 * MON-FRI", {0, 15, 30, 45}, {0, 1, 2}, {1, 15}, None, {1, 2, 3, 4, 5}),
        ("5/20 0 1 JAN 7", {5, 25, 45}, {0}, {1}, {1}, {0}),
        ("0 0 ? feb-apr sun", {0}, {0}, None, {2, 3, 4}, {0}),
        ("10-30/10 23 31 12 6", {10, 20, 30}, {23}, {31}, {12}, {6}),
    ],
)
def test_a_schedule_is_read(
    text: str,
    minutes: set[int],
    hours: set[int],
    days: set[int] | None,
    months: set[int] | None,
    weekdays: set[int],
) -> None:
    found = parse(text)
    assert (set(found.minutes), set(found.hours), set(found.weekdays)) == (
        minutes,
        hours,
        weekdays,
    )
    assert days is None or found.days == days
    assert months is None or found.months == months


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "0 fields"),
        ("0 3 * *", "4 fields"),
        ("0 3 * * * *", "6 fields"),
        ("60 3 * * *", "minute"),
        ("0 24 * * *", "hour"),
        ("0 0 0 * *", "day of the month"),
        ("0 0 1 13 *", "month"),
        ("0 0 1 1 8", "day of the week"),
        ("a 0 1 1 1", "minute"),
        ("*/0 0 1 1 1", "minute"),
        ("*/x 0 1 1 1", "minute"),
        ("30-10 0 1 1 1", "minute"),
        ("1,,2 0 1 1 1", "minute"),
        ("-1 0 1 1 1", "minute"),
        ("٣ 0 1 1 1", "minute"),
        ("0 0 1 JANUARY 1", "month"),
        ("@daily 0 1 1 1", "minute"),
    ],
)
def test_what_is_no_schedule_is_refused_with_the_field(text: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        parse(text)


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        ("0 3 * * *", 24 * 60),
        ("0 */6 * * *", 6 * 60),
        ("*/15 * * * *", 15),
        ("0,59 * * * *", 1),
        ("55 23 * * *", 24 * 60),
        ("0,50 0,23 * * *", 10),
    ],
)
def test_the_shortest_time_between_two_runs(text: str, gap: int) -> None:
    assert parse(text).shortest_gap() == gap
