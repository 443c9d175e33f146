"""What the runtime promises, numbered, and the table of tests that prove it.

A test proves number 8 when its name begins with `test_t08_` (a state machine: `TestT08`). The
table is printed after each run (tests/conftest.py); tests/house holds that no number is without.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

SEMANTICS: Mapping[int, str] = {
    1: "the workqueue equals its model",
    2: "no key is ever with two workers; adds meanwhile make one more run",
    3: "no wake-up is lost",
    4: "delayed keys come when they are due, the soonest time wins",
    5: "backoff and bucket follow their ladders",
    6: "low priority is served in the end",
    7: "a queue shuts down, drained or at once",
    8: "the store becomes what the server has, whatever goes wrong on the way",
    9: "resource versions are only taken from where they mean something",
    10: "a streamed list enters the store whole or not at all",
    11: "a new list tells what vanished, and is silent about what did not change",
    12: "an object made anew is a delete and an add",
    13: "a late handler hears of every object once",
    14: "a dead watch is noticed, and reconnecting is slow enough",
    15: "lines of any size are read, lines that are no JSON reconnect",
    16: "objects are reduced on every way into the store",
    17: "each outcome of a reconciler has its one consequence",
    18: "workers start after their sources have synced",
    19: "predicates and handlers choose the right requests",
    20: "at no moment may two processes write",
    21: "whatever fails, leadership ends in time",
    22: "the lease is released last, and only one's own",
    23: "parts start and stop in order, in bounded time",
    24: "an intent that is in place costs no request",
    25: "an intent has one form",
    26: "each refusal of an apply has its one consequence",
    27: "fields of former managers are taken over without a loss",
    28: "a write is read back, never an older state",
    29: "nobody changes an object in a store",
    30: "metrics bear the names that dashboards know",
    31: "memory and turns of the loop stay within their budgets",
    32: "nothing grows over hours of faults",
    33: "tokens and authorities are renewed in place",
    34: "no namespace takes the workers of the others",
}

_NAMED = re.compile(r"(?:test_t|TestT)(\d\d)(?=_|[A-Z]|$)")


def proven_by(node_id: str) -> int | None:
    """Read the number off the name of a test; None for a test that proves none of them."""
    name = node_id.partition("[")[0]
    found = [int(number) for part in name.split("::") for number in _NAMED.findall(part)]
    return found[-1] if found and found[-1] in SEMANTICS else None


def table(passed: Iterable[str], failed: Iterable[str]) -> list[str]:
    """One line per number that was tried, with how many tests passed and failed."""
    good, bad = (Counter(filter(None, map(proven_by, ids))) for ids in (passed, failed))
    return [
        f"T{number:<3}{good[number]:>5} passed{bad[number]:>5} failed   {SEMANTICS[number]}"
        for number in sorted(good | bad)
    ]
