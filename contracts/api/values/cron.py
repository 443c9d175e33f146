"""Schedules of five cron fields, in UTC.

Uses croniter, which accepts more than these fields (seconds, random fields, dates that do not
exist), so `parse` checks every schedule first. Called by the rules about schedules and by managers.
`parse` accepts lists, ranges, steps and the English names of months and days; if both day fields
are restricted, either must match (crontab(5)).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_HOUR = 60


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    least: int
    most: int
    words: tuple[str, ...] = ()

    def number(self, text: str) -> int:
        if text.upper() in self.words:
            return self.least + self.words.index(text.upper())
        if not text.isascii() or not text.isdigit() or len(text) > 2:
            raise ValueError(f"{self.name}: not a number: {text[:20]!r}")
        number = int(text)
        if not self.least <= number <= self.most:
            raise ValueError(f"{self.name}: {number} is not from {self.least} to {self.most}")
        return number


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    # 0 and 7 are Sunday.
    _Field("day of the week", 0, 7, _DAYS),
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """The values at which each field is due."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]

    def shortest_gap(self) -> int:
        """Return the shortest time in minutes between two due times of one day or two successive
        days."""
        due = sorted(hour * _HOUR + minute for hour in self.hours for minute in self.minutes)
        gaps = [later - earlier for earlier, later in pairwise(due)]
        return min([*gaps, due[0] + 24 * _HOUR - due[-1]])


def parse(text: str) -> Schedule:
    """Read a schedule; raises ValueError that names the invalid field."""
    words = text.split()
    if len(words) != len(_FIELDS):
        raise ValueError(f"{len(words)} fields instead of {len(_FIELDS)}")
    sets = [_values(field, item) for field, item in zip(_FIELDS, words, strict=True)]
    minutes, hours, days, months, weekdays = sets
    return Schedule(minutes, hours, days, months, frozenset(day % 7 for day in weekdays))


@lru_cache(maxsize=1024)
def next_after(text: str, moment: datetime) -> datetime:
    """Return when a schedule is next due, in UTC, strictly after an aware moment.

    Raises ValueError for an invalid schedule, for one that is never due, such as 0 0 31 2 *, and
    for a moment without a time zone.
    """
    # Imported here: most commands read no schedule.
    from croniter import CroniterBadDateError, croniter

    parse(text)
    if moment.tzinfo is None:
        raise ValueError("the start time for a schedule needs a time zone")
    start = moment.astimezone(UTC).replace(microsecond=0, fold=0)
    try:
        following = croniter(text.replace("?", "*"), start, ret_type=datetime).get_next()
    except CroniterBadDateError:
        raise ValueError("the date does not exist, so the schedule is never due") from None
    if not isinstance(following, datetime) or following <= moment:
        raise ValueError(f"cannot compute the next due time after {moment}")
    return following


def _values(field: _Field, item: str) -> frozenset[int]:
    return frozenset(value for part in item.split(",") for value in _part(field, part))


def _part(field: _Field, part: str) -> Iterator[int]:
    span, slash, step_text = part.partition("/")
    step = _step(field, step_text) if slash else 1
    if span in ("*", "?"):
        # Without 7, which would add Sunday twice.
        return iter(range(field.least, (6 if field.words is _DAYS else field.most) + 1, step))
    first, dash, last = span.partition("-")
    least = field.number(first)
    open_end = field.most if slash else least
    most = field.number(last) if dash else open_end
    if most < least:
        raise ValueError(f"{field.name}: {span} ends before it starts")
    return iter(range(least, most + 1, step))


def _step(field: _Field, text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 2 or int(text) == 0:
        raise ValueError(f"{field.name}: not a step: {text[:20]!r}")
    return int(text)
