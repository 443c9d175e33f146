"""runtime.memo: a result is kept while its inputs are the same, and no longer."""

import copy
import gc
import weakref

import pytest

from runtime.memo import SIZE, remembered


class Thing:
    """Something that lives through many passes; all of them are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Thing)

    __hash__ = None  # type: ignore[assignment]


class Counting:
    def __init__(self) -> None:
        self.asked: list[tuple[Thing, str, int]] = []
        self.ask = remembered(self._work)

    def _work(self, thing: Thing, text: str, *, number: int = 0) -> list[str]:
        self.asked.append((thing, text, number))
        if text == "bad":
            raise ValueError(text)
        return [text, str(number)]


def test_the_same_question_is_answered_once() -> None:
    made, thing = Counting(), Thing()
    first = made.ask(thing, "a")
    assert made.ask(thing, "a") is first
    assert first == ["a", "0"]
    assert len(made.asked) == 1


def test_every_argument_is_part_of_the_question() -> None:
    made, thing = Counting(), Thing()
    assert made.ask(thing, "a") == ["a", "0"]
    assert made.ask(thing, "b") == ["b", "0"]
    assert made.ask(thing, "b", number=1) == ["b", "1"]
    assert made.ask(thing, "a") == ["a", "0"]
    assert len(made.asked) == 4


def test_an_equal_thing_is_another_one() -> None:
    """It may be about to change: only what is the very same has certainly not."""
    made, thing = Counting(), Thing()
    made.ask(thing, "a")
    made.ask(copy.copy(thing), "a")
    assert len(made.asked) == 2


def test_things_that_come_and_go_are_never_taken_for_each_other() -> None:
    """The id of a thing that is gone is given to another one."""
    ids: set[int] = set()
    number_of = remembered(lambda numbers: numbers[0])
    for n in range(5 * SIZE):
        thing = [n]
        ids.add(id(thing))
        assert number_of(thing) == n
    assert len(ids) < 5 * SIZE, "no id was given twice: this proves nothing"


def test_what_raised_is_asked_again() -> None:
    made, thing = Counting(), Thing()
    for _ in range(2):
        with pytest.raises(ValueError, match="bad"):
            made.ask(thing, "bad")
    assert len(made.asked) == 2


def test_what_was_not_asked_for_longest_goes_first() -> None:
    made = Counting()
    things = [Thing() for _ in range(SIZE)]
    for thing in things:
        made.ask(thing, "a")
    made.ask(things[0], "a")
    made.ask(Thing(), "a")
    made.asked.clear()
    made.ask(things[0], "a")
    assert made.asked == []
    made.ask(things[1], "a")
    assert len(made.asked) == 1


def test_nothing_beyond_the_bound_is_kept_alive() -> None:
    kept = remembered(lambda thing: 1)
    things = [Thing() for _ in range(SIZE + 10)]
    for thing in things:
        kept(thing)
    gone = [weakref.ref(thing) for thing in things]
    del things, thing
    gc.collect()
    assert sum(reference() is not None for reference in gone) == SIZE
