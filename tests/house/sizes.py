"""Limits for the length of files and functions, and for the number of arguments."""

import ast
import re
from collections.abc import Iterator

from tests.house.checkout import PYTHON, Source
from tests.house.rule import Rule, below

FILE_LINES = 400
FUNCTION_LINES = 60
ARGUMENTS = 6

_ARGUMENTS_WAIVED = re.compile(r"# noqa: PLR0913\b.*\w{3}")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def file_length(source: Source) -> Iterator[str]:
    """A file is short enough to be read at once."""
    length = len(source.lines)
    if length > FILE_LINES:
        yield f"{length} lines, at most {FILE_LINES}"


def function_length(source: Source) -> Iterator[str]:
    """A function fits on a screen, including its docstring."""
    for node in source.nodes:
        if isinstance(node, Function):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield f"{node.name} has {length} lines, at most {FUNCTION_LINES}"


def argument_count(source: Source) -> Iterator[str]:
    """Few arguments, not counting `self` and `cls`; a waiver with its reason is on the line."""
    methods = {
        id(function)
        for node in source.nodes
        if isinstance(node, ast.ClassDef)
        for function in node.body
        if isinstance(function, Function) and not _is_static(function)
    }
    for node in source.nodes:
        if not isinstance(node, Function):
            continue
        args = node.args
        count = len(args.posonlyargs) + len(args.args) + len(args.kwonlyargs)
        count -= id(node) in methods
        if count > ARGUMENTS and not _ARGUMENTS_WAIVED.search(source.lines[node.lineno - 1]):
            yield f"{node.name} takes {count} arguments, at most {ARGUMENTS}"


def _is_static(function: Function) -> bool:
    return any(
        isinstance(decorator, ast.Name) and decorator.id == "staticmethod"
        for decorator in function.decorator_list
    )


def _function(lines: int) -> str:
    return "def f() -> None:\n" + "    print()\n" * (lines - 1)


_SEVEN = "def f(a: int, b: int, c: int, d: int, *, e: int, g: int, h: int)"

RULES = (
    Rule(
        "a file has at most 400 lines",
        file_length,
        below(*PYTHON),
        invalid=(Source("runtime/long.py", "x = 1\n" * (FILE_LINES + 1)),),
        valid=(Source("runtime/full.py", "x = 1\n" * FILE_LINES),),
    ),
    Rule(
        "a function has at most 60 lines",
        function_length,
        below(*PYTHON),
        invalid=(
            Source("runtime/long.py", _function(FUNCTION_LINES + 1)),
            Source("runtime/slow.py", "async " + _function(FUNCTION_LINES + 1)),
        ),
        valid=(Source("runtime/full.py", _function(FUNCTION_LINES)),),
    ),
    Rule(
        "a function takes at most 6 arguments",
        argument_count,
        below(*PYTHON),
        invalid=(
            Source("runtime/many.py", f"{_SEVEN} -> None: ...\n"),
            Source("runtime/why.py", f"{_SEVEN} -> None:  # noqa: PLR0913\n    ...\n"),
        ),
        valid=(
            Source("runtime/told.py", f"{_SEVEN} -> None:  # noqa: PLR0913  all needed\n    ...\n"),
            Source(
                "runtime/method.py",
                "class A:\n    def f(self, a: int, b: int, c: int, d: int, e: int, g: int): ...\n",
            ),
        ),
    ),
)
