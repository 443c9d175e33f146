"""Runs mutants in parallel, each worker in its own copy, and checks the tests that killed.

Uses tests.mutants.copies and threads. Called by the command.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from threading import Lock
from typing import TypeVar

from tests.mutants.copies import Copy
from tests.mutants.operators import Mutant
from tests.mutants.verdict import Result, Run, killers, result

T = TypeVar("T")
STOP_AT_FIRST = "-x"
Select = Callable[[str], tuple[str, ...]]


class Runner:
    """Copies that are taken by one thread at a time."""

    def __init__(self, copies: Sequence[Copy], select: Select, seconds: float) -> None:
        self._workers = len(copies)
        self._free: SimpleQueue[Copy] = SimpleQueue()
        for copy in copies:
            self._free.put(copy)
        self._select = select
        self._seconds = seconds
        self._unmutated: dict[tuple[str, ...], Run] = {}
        self._lock = Lock()

    def results(self, mutants: Sequence[Mutant]) -> Iterator[Result]:
        """Run mutants; yield each result when it is available."""
        pool = ThreadPoolExecutor(self._workers)
        try:
            for future in as_completed([pool.submit(self._result, mutant) for mutant in mutants]):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _result(self, mutant: Mutant) -> Result:
        return self._in_a_copy(partial(self._tried, mutant))

    def _tried(self, mutant: Mutant, copy: Copy) -> Result:
        tests = self._select(mutant.path)
        with copy.mutated(mutant):
            run = copy.run(tests, self._seconds, STOP_AT_FIRST)
        verdict = result(mutant, run, len(tests))
        if verdict.outcome != "timeout" or run.status is not None:
            return verdict
        if self._without_mutant(tests, copy).status is not None:
            return verdict
        # Tests that need longer than the limit anyway say nothing about the mutant.
        return replace(verdict, outcome="undecided", text="its tests need longer than the limit")

    def _without_mutant(self, tests: tuple[str, ...], copy: Copy) -> Run:
        """Run tests on the product as it is, each list of files once."""
        with self._lock:
            if tests not in self._unmutated:
                self._unmutated[tests] = copy.run(tests, self._seconds)
            return self._unmutated[tests]

    def checked(self, results: Sequence[Result], seconds: float) -> list[Result]:
        """Run the tests that killed on the product as it is; one that fails has killed nothing."""
        tests = killers(results)
        if not tests:
            return [*results]
        run = self._in_a_copy(lambda copy: copy.run(tests, seconds))
        failed = {failure.test.partition("[")[0] for failure in run.failures}
        if run.status not in (0, 1):
            failed = {*tests}
        return [
            _unreliable(entry) if entry.test.partition("[")[0] in failed else entry
            for entry in results
        ]

    def _in_a_copy(self, act: Callable[[Copy], T]) -> T:
        copy = self._free.get()
        try:
            return act(copy)
        finally:
            self._free.put(copy)


def _unreliable(result: Result) -> Result:
    return replace(
        result, outcome="undecided", text=f"the test fails without it too: {result.text}"
    )
