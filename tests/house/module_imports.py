"""No module imports a test module: shared code is in a separate module, such as a bench."""

import ast
from collections.abc import Iterator

from tests.house.checkout import Source
from tests.house.rule import Rule, below

_TESTS = ("tests", "e2e")


def imported_test_module(source: Source) -> Iterator[str]:
    """No module may import a module that pytest collects."""
    for node in source.nodes:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for name in _imported(node, source.path):
            top, *parts = name.split(".")
            if top in _TESTS and any(part.startswith("test_") for part in parts):
                yield f"line {node.lineno}: imports {name}; share a module without tests"


def _imported(node: ast.Import | ast.ImportFrom, path: str) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            package = ".".join(path.split("/")[:-level]) if level else ""
            start = ".".join(part for part in (package, module) if part)
            yield from (f"{start}.{alias.name}" for alias in names)


RULES = (
    Rule(
        "imports of test modules",
        imported_test_module,
        below(*_TESTS),
        invalid=(
            Source("tests/x/test_a.py", "from tests.x.test_b import Bench"),
            Source("tests/x/bench.py", "from tests.x import test_b as other"),
            Source("e2e/x/test_a.py", "import e2e.x.test_b"),
            Source("tests/x/test_a.py", "def f():\n    from .test_b import Bench"),
            Source("tests/x/test_a.py", "from . import test_b"),
        ),
        valid=(
            Source("tests/x/test_a.py", "from tests.x.bench import Bench"),
            Source("tests/x/test_a.py", "from runtime.testing.clock import ManualClock"),
        ),
    ),
)
