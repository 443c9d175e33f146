"""runtime.memo: a result is kept only while its inputs are the same."""

import asyncio
import copy
import gc
import weakref
from contextvars import copy_context

import pytest

from runtime.memo import PASS_SIZE, SIZE, Memos, memoize


class Thing:
    """An object that is used by many reconciles; all instances are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Thing)

    __hash__ = None  # type: ignore[assignment]


class Counting:
    def __init__(self) -> None:
        self.calls: list[tuple[Thing, str, int]] = []
        self.ask = memoize(self._work)

    def _work(self, thing: Thing, text: str, *, number: int = 0) -> list[str]:
        self.calls.append((thing, text, number))
        if text == "bad":
            raise ValueError(text)
        return [text, str(number)]


def test_a_call_is_computed_once_and_every_argument_is_compared() -> None:
    counter, thing = Counting(), Thing()
    first = counter.ask(thing, "a")
    assert counter.ask(thing, "a") is first
    assert first == ["a", "0"]
    assert len(counter.calls) == 1
    assert counter.ask(thing, "b") == ["b", "0"]
    assert counter.ask(thing, "b", number=1) == ["b", "1"]
    assert counter.ask(thing, "a") == ["a", "0"]
    assert len(counter.calls) == 4


def test_an_equal_object_is_computed_again() -> None:
    """An equal object may be about to change: only the same one has certainly not changed."""
    counter, thing = Counting(), Thing()
    counter.ask(thing, "a")
    counter.ask(copy.copy(thing), "a")
    assert len(counter.calls) == 2


def test_objects_with_a_reused_id_are_distinguished() -> None:
    """The id of a freed object is reused."""
    ids: set[int] = set()
    number_of = memoize(lambda numbers: numbers[0])
    for n in range(5 * SIZE):
        thing = [n]
        ids.add(id(thing))
        assert number_of(thing) == n
    assert len(ids) < 5 * SIZE, "no id was given twice: this proves nothing"


def test_exceptions_are_not_kept() -> None:
    counter, thing = Counting(), Thing()
    for _ in range(2):
        with pytest.raises(ValueError, match="bad"):
            counter.ask(thing, "bad")
    assert len(counter.calls) == 2


def test_the_least_recently_used_is_dropped_first() -> None:
    counter = Counting()
    things = [Thing() for _ in range(SIZE)]
    for thing in things:
        counter.ask(thing, "a")
    counter.ask(things[0], "a")
    counter.ask(Thing(), "a")
    counter.calls.clear()
    counter.ask(things[0], "a")
    assert counter.calls == []
    counter.ask(things[1], "a")
    assert len(counter.calls) == 1


def test_nothing_beyond_the_bound_is_kept_alive() -> None:
    kept = memoize(lambda thing: 1)
    things = [Thing() for _ in range(SIZE + 10)]
    for thing in things:
        kept(thing)
    gone = [weakref.ref(thing) for thing in things]
    del things, thing
    gc.collect()
    assert sum(reference() is not None for reference in gone) == SIZE


def test_a_newer_version_replaces_the_former_one() -> None:
    calls: list[int] = []

    def look(thing: list[int]) -> int:
        calls.append(thing[1])
        return thing[1]

    version_of = memoize(look, size=2, slot=lambda thing: thing[0])
    first, second, other = [1, 10], [1, 11], [2, 20]
    assert [version_of(item) for item in (first, other, second, second, other)] == [
        10,
        20,
        11,
        11,
        20,
    ]
    assert calls == [10, 20, 11]
    # Another object of the same slot: the result of the former one is computed again.
    assert version_of(first) == 10
    assert calls == [10, 20, 11, 10]


def test_a_former_version_is_not_kept_alive() -> None:
    kept = memoize(lambda thing: 1, size=2 * SIZE, slot=lambda thing: "the same")
    things = [Thing() for _ in range(SIZE)]
    for thing in things:
        kept(thing)
    gone = [weakref.ref(thing) for thing in things]
    del things, thing
    gc.collect()
    assert sum(reference() is not None for reference in gone) == 1


def test_the_size_can_be_that_of_a_fleet() -> None:
    calls: list[int] = []
    number_of = memoize(lambda numbers: calls.append(numbers[0]), size=2 * SIZE)
    things = [[n] for n in range(2 * SIZE)]
    for _ in range(3):
        for thing in things:
            number_of(thing)
    assert len(calls) == 2 * SIZE


def test_a_result_that_another_thread_drops_is_still_returned() -> None:
    first, other = Thing(), Thing()

    class Meanwhile:
        """Simulates another thread."""

        def __eq__(self, _: object) -> bool:
            pair(other, None)
            return True

        __hash__ = None  # type: ignore[assignment]

    pair = memoize(lambda left, right: [left, right], size=1)
    key_pair = pair(first, Meanwhile())
    assert pair(first, Meanwhile()) is key_pair


class TestPasses:
    def test_results_of_the_last_reconcile_are_used_by_the_next(self) -> None:
        counter, thing, memos = Counting(), Thing(), Memos()
        with memos.during("a"):
            first = counter.ask(thing, "a")
            assert counter.ask(thing, "a") is first
        with memos.during("a"):
            assert counter.ask(thing, "a") is first
        assert len(counter.calls) == 1

    def test_unused_results_are_dropped_after_a_reconcile(self) -> None:
        counter, thing, memos = Counting(), Thing(), Memos()
        gone = weakref.ref(thing)
        with memos.during("a"):
            counter.ask(thing, "a")
        counter.calls.clear()
        del thing
        gc.collect()
        assert gone() is not None
        with memos.during("a"):
            pass
        gc.collect()
        assert gone() is None
        assert len(memos) == 0

    def test_a_failed_reconcile_keeps_its_results(self) -> None:
        counter, thing, memos = Counting(), Thing(), Memos()

        def pass_of(text: str) -> None:
            with memos.during("a"):
                counter.ask(thing, "a")
                counter.ask(thing, text)

        with pytest.raises(ValueError, match="bad"):
            pass_of("bad")
        pass_of("a")
        assert [text for _, text, _ in counter.calls] == ["a", "bad"]

    def test_keys_are_separate_and_the_least_recently_reconciled_is_dropped_first(self) -> None:
        counter, thing, memos = Counting(), Thing(), Memos(keys=2)
        for key in ("a", "b", "a", "c", "a", "b"):
            with memos.during(key):
                counter.ask(thing, key)
        assert [text for _, text, _ in counter.calls] == ["a", "b", "c", "b"]
        assert len(memos) == 2

    def test_without_keys_a_result_stays_only_during_a_reconcile(self) -> None:
        counter, thing, memos = Counting(), Thing(), Memos(keys=0)
        for _ in range(2):
            with memos.during("a"):
                assert counter.ask(thing, "a") is counter.ask(thing, "a")
            assert len(memos) == 0
        assert len(counter.calls) == 2

    async def test_tasks_and_threads_of_a_reconcile_belong_to_it(self) -> None:
        counter, thing, memos = Counting(), Thing(), Memos()

        async def ask() -> list[str]:
            return counter.ask(thing, "a")

        with memos.during("a"):
            first = await asyncio.to_thread(counter.ask, thing, "a")
            assert await asyncio.create_task(ask()) is first
        assert len(counter.calls) == 1

    def test_a_connection_of_a_reconcile_keeps_no_result_alive(self) -> None:
        """asyncio copies the context into the callbacks of a connection, which outlives it."""
        counter, thing, memos = Counting(), Thing(), Memos()
        gone = weakref.ref(thing)
        with memos.during("a"):
            counter.ask(thing, "a")
            context = copy_context()
        with memos.during("a"):
            pass
        counter.calls.clear()
        del thing
        gc.collect()
        assert gone() is None

        def ask_later() -> None:
            later = Thing()
            assert counter.ask(later, "a") is counter.ask(later, "a")

        context.run(ask_later)
        assert len(counter.calls) == 1

    def test_the_results_of_a_reconcile_are_bounded(self) -> None:
        kept, memos = memoize(lambda thing: thing), Memos()
        things = [Thing() for _ in range(PASS_SIZE + 1)]
        with memos.during("a"):
            assert [kept(thing) for thing in things] == things
        gone = [weakref.ref(thing) for thing in things]
        del things
        gc.collect()
        assert sum(reference() is not None for reference in gone) == PASS_SIZE

    def test_results_of_a_fleet_are_shared_by_all_reconciles(self) -> None:
        counter, thing, memos = Counting(), Thing(), Memos()
        shared = memoize(counter._work, slot=id)
        for key in ("a", "b"):
            with memos.during(key):
                shared(thing, "a")
        assert len(counter.calls) == 1
        assert len(memos) == 0


def test_reconciles_of_two_controllers_share_a_result_while_one_of_them_keeps_it() -> None:
    counter, thing = Counting(), Thing()
    memos, other = Memos(), Memos()
    with memos.during("key"):
        first = counter.ask(thing, "a")
    with other.during("key"):
        assert counter.ask(thing, "a") is first
        # Other arguments for the same object are computed again.
        assert counter.ask(thing, "b") == ["b", "0"]
    assert len(counter.calls) == 2


def test_a_shared_result_is_dropped_with_its_last_user() -> None:
    counter, thing = Counting(), Thing()
    memos = Memos()
    with memos.during("key"):
        counter.ask(thing, "a")
    # Two reconciles without a call: the first still keeps the results of the one before.
    for _ in range(2):
        with memos.during("key"):
            pass
    gc.collect()
    with memos.during("key"):
        counter.ask(thing, "a")
    assert len(counter.calls) == 2
