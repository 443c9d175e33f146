"""The guarantees of the runtime, numbered, and the table of the tests that prove them.

A test proves number 8 if its name begins with `test_t08_` (a state machine: `TestT08`). The table
is printed after each run (tests/conftest.py); tests/house requires a test for each number.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

SEMANTICS: Mapping[int, str] = {
    1: "the workqueue behaves like its model",
    2: "no two workers ever hold the same key; adds meanwhile cause one more reconcile",
    3: "no wake-up is lost",
    4: "delayed keys become ready when they are due; of several times the soonest applies",
    5: "backoff and token bucket return the documented delays",
    6: "low priorities do not starve",
    7: "a queue shuts down, with or without draining",
    8: "the store converges to the state of the server, whatever faults occur",
    9: "resource versions are only used where they are meaningful",
    10: "a streamed list enters the store completely or not at all",
    11: "a new list reports deleted objects, and no unchanged ones",
    12: "a recreated object is a delete and an add",
    13: "a late handler gets an add of every object once",
    14: "a dead watch is detected, and reconnects are rate-limited",
    15: "lines of any size are read; lines that are not JSON cause a reconnect",
    16: "objects are reduced before they enter the store, from every source",
    17: "each outcome of a reconciler has exactly one consequence",
    18: "workers start after their sources have synced",
    19: "predicates and handlers select the right requests",
    20: "two processes can never write at the same time",
    21: "whatever fails, leadership ends in time",
    22: "the lease is released last, and only by its holder",
    23: "components start and stop in order, in bounded time",
    24: "an intent that matches the live object causes no request",
    25: "an intent has one canonical form",
    26: "each error of an apply has exactly one consequence",
    27: "fields of former managers are taken over without a loss",
    28: "a read after a write never returns an older state",
    29: "no code changes an object in a store",
    30: "metrics have the names that dashboards use",
    31: "memory and blocking of the event loop stay within their budgets",
    32: "memory does not grow over hours of faults",
    33: "tokens and CA certificates are renewed in place",
    34: "no namespace takes the workers of the others",
}

_NUMBER = re.compile(r"(?:test_t|TestT)(\d\d)(?=_|[A-Z]|$)")


def proven_by(node_id: str) -> int | None:
    """Return the number in the name of a test; None if it proves none of the guarantees."""
    name = node_id.partition("[")[0]
    numbers = [int(number) for part in name.split("::") for number in _NUMBER.findall(part)]
    return numbers[-1] if numbers and numbers[-1] in SEMANTICS else None


def table(passed: Iterable[str], failed: Iterable[str]) -> list[str]:
    """One line per number that was tested, with the counts of passed and failed tests."""
    passes, failures = (Counter(filter(None, map(proven_by, ids))) for ids in (passed, failed))
    return [
        f"T{number:<3}{passes[number]:>5} passed{failures[number]:>5} failed   {SEMANTICS[number]}"
        for number in sorted(passes | failures)
    ]
