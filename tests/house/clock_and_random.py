"""Time comes from runtime.clock and random numbers from the caller: tests are repeatable."""

import ast
from collections.abc import Iterable, Iterator, Mapping

from tests.house.checkout import LAYERS, Source
from tests.house.rule import Rule, below

_TIMED = frozenset(
    {
        "asyncio.get_event_loop().time", "asyncio.get_running_loop().time", "asyncio.sleep",
        "datetime.date.today", "datetime.datetime.now", "datetime.datetime.today",
        "datetime.datetime.utcnow", "time.monotonic", "time.monotonic_ns", "time.perf_counter",
        "time.perf_counter_ns", "time.sleep", "time.time", "time.time_ns",
    }
)  # fmt: skip
# Callers pass the class; everything else in the module uses one hidden generator.
_CHANCE_ALLOWED = frozenset({"random.Random"})


def wall_clock(source: Source) -> Iterator[str]:
    """The clock of the machine is read in one module."""
    for line, name in _references(source):
        if name in _TIMED:
            yield f"line {line}: {name}; time comes from runtime.clock.Clock"


def hidden_random(source: Source) -> Iterator[str]:
    """A random.Random is an argument."""
    for line, name in _references(source):
        if name.startswith("random.") and name not in _CHANCE_ALLOWED:
            yield f"line {line}: {name}; a random.Random comes from the caller"


def _references(source: Source) -> Iterator[tuple[int, str]]:
    bound = _bound(source.nodes)
    for node in source.nodes:
        if isinstance(node, ast.Attribute | ast.Name):
            name = _dotted(node, bound)
            if name is not None:
                yield node.lineno, name


def _bound(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """The full name of each imported name."""
    bound = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                bound[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return bound


def _dotted(node: ast.expr, bound: Mapping[str, str]) -> str | None:
    match node:
        case ast.Name(id=name):
            return bound.get(name)
        case ast.Attribute(value=value, attr=attribute):
            owner = _dotted(value, bound)
            return None if owner is None else f"{owner}.{attribute}"
        case ast.Call(func=function):
            called = _dotted(function, bound)
            return None if called is None else f"{called}()"
        case _:
            return None


def _outside_the_clock(path: str) -> bool:
    return below(*LAYERS, "tests")(path) and path != "runtime/clock.py"


RULES = (
    Rule(
        "the wall clock is read in runtime/clock.py",
        wall_clock,
        _outside_the_clock,
        invalid=(
            Source("runtime/queue.py", "import time\nx = time.monotonic()\n"),
            Source("runtime/queue.py", "import time as t\nnow = t.time\n"),
            Source("managers/x.py", "from datetime import datetime, UTC\nx = datetime.now(UTC)\n"),
            Source("managers/x.py", "import datetime\nx = datetime.datetime.now()\n"),
            Source(
                "baoctl/x.py", "from asyncio import sleep\nasync def f():\n    await sleep(1)\n"
            ),
            Source("contracts/x.py", "import asyncio\nx = asyncio.get_running_loop().time()\n"),
            Source("tests/test_x.py", "import time\ndef test_x():\n    time.sleep(1)\n"),
        ),
        valid=(
            Source("runtime/clock.py", "import time\nx = time.monotonic()\n"),
            Source("runtime/queue.py", "def f(clock):\n    return clock.monotonic()\n"),
            Source("managers/x.py", "from datetime import datetime\nx = datetime(2026, 1, 1)\n"),
        ),
    ),
    Rule(
        "random numbers are injected",
        hidden_random,
        below(*LAYERS),
        invalid=(
            Source("runtime/leader/leader.py", "import random\nx = random.random()\n"),
            Source("runtime/leader/leader.py", "from random import uniform\nx = uniform(1, 2)\n"),
        ),
        valid=(
            Source(
                "runtime/leader/leader.py",
                "import random\ndef f(rng: random.Random):\n    rng.random()",
            ),
        ),
    ),
)
