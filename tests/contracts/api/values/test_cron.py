"""Schedules: five fields of cron, and how often they are due."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.api.values import cron
from contracts.api.values.cron import parse


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
    schedule = parse(text)
    assert (set(schedule.minutes), set(schedule.hours), set(schedule.weekdays)) == (
        minutes,
        hours,
        weekdays,
    )
    assert days is None or schedule.days == days
    assert months is None or schedule.months == months


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
def test_an_invalid_schedule_is_refused_with_its_field(text: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        parse(text)


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        ("0 3 * * *", 24 * 60),
        ("0 */6 * * *", 6 * 60),
        ("*/15 * * * *", 15),
        ("0,59 * * * *", 1),
        ("* * * * *", 1),
        ("*/1 * * * *", 1),
        ("0-59 * * * *", 1),
        ("55 23 * * *", 24 * 60),
        ("0,50 0,23 * * *", 10),
    ],
)
def test_the_shortest_time_between_two_runs(text: str, gap: int) -> None:
    assert parse(text).shortest_gap() == gap


MOMENT = datetime(2030, 1, 1, 2, 30, tzinfo=UTC)
# schedule, when it is next due after Tuesday 2030-01-01 02:30 UTC
DUE = (
    ("0 3 * * *", "2030-01-01 03:00"),
    ("30 2 * * *", "2030-01-02 02:30"),
    ("*/20 * * * *", "2030-01-01 02:40"),
    ("5/20 * * * *", "2030-01-01 02:45"),
    ("0 0 ? * sun", "2030-01-06 00:00"),
    ("0 0 * * 7", "2030-01-06 00:00"),
    ("0 0 1,15 * MON", "2030-01-07 00:00"),
    ("0 0 29 2 *", "2032-02-29 00:00"),
    ("0 12 31 * *", "2030-01-31 12:00"),
)


class TestNextAfter:
    @pytest.mark.parametrize(("text", "due"), DUE)
    def test_the_next_due_time(self, text: str, due: str) -> None:
        assert cron.next_after(text, MOMENT) == datetime.fromisoformat(f"{due}+00:00")

    def test_a_fraction_of_a_second_after_the_time_is_after_it(self) -> None:
        just = MOMENT + timedelta(microseconds=1)
        assert cron.next_after("30 2 * * *", just) == MOMENT + timedelta(days=1)
        assert cron.next_after("30 2 * * *", MOMENT - timedelta(microseconds=1)) == MOMENT

    def test_summer_time_does_not_move_the_schedule(self) -> None:
        """Two nights on which clocks are set in Berlin: still once a day, at the same hour."""
        for day in ("2030-03-30", "2030-10-26"):
            berlin = ZoneInfo("Europe/Berlin")
            moment = datetime.fromisoformat(f"{day}T12:00:00").replace(tzinfo=berlin)
            dues = [moment]
            for _ in range(3):
                dues.append(cron.next_after("30 1 * * *", dues[-1].astimezone(berlin)))
            hours = {(due.hour, due.minute, due.tzinfo) for due in dues[1:]}
            assert hours == {(1, 30, UTC)}
            assert {later - due for due, later in pairwise(dues[1:])} == {timedelta(days=1)}

    @pytest.mark.parametrize("text", ["0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6 *"])
    def test_a_date_that_does_not_exist_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match="never due"):
            cron.next_after(text, MOMENT)

    @pytest.mark.parametrize(
        "text", ["@daily", "0 0 3 * * *", "R * * * *", "H 3 * * *", "0 0 L * *"]
    )
    def test_extensions_of_croniter_are_refused(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"fields|not a number"):
            cron.next_after(text, MOMENT)

    def test_a_time_without_zone_is_refused(self) -> None:
        with pytest.raises(ValueError, match="needs a time zone"):
            cron.next_after("0 3 * * *", MOMENT.replace(tzinfo=None))

    @given(st.sampled_from([text for text, _ in DUE]), st.integers(0, 10 * 365 * 86400))
    def test_no_earlier_minute_is_due(self, text: str, seconds: int) -> None:
        """An independent implementation finds no earlier minute."""
        moment = MOMENT + timedelta(seconds=seconds)
        fields = cron.parse(text)
        due = cron.next_after(text, moment)
        assert due > moment
        assert is_due(fields, text, due)
        minute = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
        while minute < min(due, moment + timedelta(days=2)):
            assert not is_due(fields, text, minute)
            minute += timedelta(minutes=1)


def is_due(fields: cron.Schedule, text: str, minute: datetime) -> bool:
    in_time = minute.minute in fields.minutes and minute.hour in fields.hours
    in_day = minute.day in fields.days
    in_week = minute.isoweekday() % 7 in fields.weekdays
    both = all(text.split()[at][0] not in "*?" for at in (2, 4))
    day = in_day or in_week if both else in_day and in_week
    return in_time and minute.month in fields.months and day
