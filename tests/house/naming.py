"""Rules about names of modules, classes and objects, and about docstrings of modules."""

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from tests.house.checkout import PYTHON, Source
from tests.house.rule import Rule, below

_VAGUE = frozenset(
    {"utils", "util", "helpers", "helper", "common", "misc", "shared", "stuff", "constants"}
)
# docs/glossary.md has their replacements.
_RETIRED = frozenset(
    {"pulse", "hands", "wish", "wishes", "course", "council", "telling", "heir", "linger"}
    | {"executor", "executors", "oplock", "concealed", "beside", "told", "said", "hopeless"}
    | {"cramped", "newborn", "heeding", "heeded", "standing", "slept", "untimely", "unwieldy"}
    | {"lacking", "doomed", "unguarded", "offered", "dialed"}
)
_RETIRED_OF_MODULES = _RETIRED | {
    "sight",
    "ways",
    "witness",
    "claim",
    "proof",
    "row",
    "rows",
    "look",
}
# A name of asyncio: loop.run_in_executor.
_OF_OTHERS = ("runtime/testing/simulation.py", "run_in_executor")
_CLASS_WORD = re.compile(r"[A-Z][a-z]+")
# The term of controller-runtime for what starts and stops the parts of a process.
_MANAGER = ("runtime/process/manager.py", "Manager")
_OBJECT_NAME = re.compile(r"[a-z0-9.]*-[a-z0-9.-]*")


def vague_name(source: Source) -> Iterator[str]:
    """A name denotes a concept; these denote none."""
    for part in PurePosixPath(source.path).with_suffix("").parts:
        if _VAGUE & set(part.split("_")):
            yield f"{part!r} names no concept"
    for node in source.nodes:
        if isinstance(node, ast.ClassDef):
            words = {word.lower() for word in _CLASS_WORD.findall(node.name)}
            if words & _VAGUE:
                yield f"class {node.name} names no concept"
            if node.name.endswith("Manager") and (source.path, node.name) != _MANAGER:
                yield f"class {node.name}: a manager of what? name its function"


def retired_name(source: Source) -> Iterator[str]:
    """Words that were replaced by the terms of the field."""
    for part in PurePosixPath(source.path).with_suffix("").parts:
        if words := _RETIRED_OF_MODULES & set(part.split("_")):
            yield f"{part!r}: {', '.join(sorted(words))} is retired, see docs/glossary.md"
    for node in source.nodes:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if source.path.startswith("tests/") and node.name.startswith("test_"):
            # The name of a test is a sentence, in which "told" is a verb.
            continue
        words = _RETIRED & _words(node.name)
        if words and (source.path, node.name) != _OF_OTHERS:
            yield f"{node.name}: {', '.join(sorted(words))} is retired, see docs/glossary.md"


def _words(name: str) -> set[str]:
    return {word.lower() for word in (*_CLASS_WORD.findall(name), *name.split("_"))}


def stray_name(source: Source) -> Iterator[str]:
    """Names of objects are created in contracts.naming.names: a suffix that is changed elsewhere
    leaves orphaned objects.
    """
    for node in source.nodes:
        if isinstance(node, ast.JoinedStr) and _is_name(_constant_parts(node)):
            yield f"line {node.lineno}: an object name is not from contracts.naming.names"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            sides = [side for side in (node.left, node.right) if _text(side) is None]
            texts = [text for side in (node.left, node.right) if (text := _text(side))]
            if len(sides) == 1 and _is_name(texts):
                yield f"line {node.lineno}: an object name is concatenated"


def _is_name(fixed: list[str]) -> bool:
    return any("-" in part for part in fixed) and all(map(_OBJECT_NAME.fullmatch, fixed))


def _constant_parts(node: ast.JoinedStr) -> list[str]:
    return [text for part in node.values if (text := _text(part)) is not None]


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def missing_docstring(source: Source) -> Iterator[str]:
    """The docstring of a module says what it is, what it may use and who calls it."""
    if not (ast.get_docstring(source.tree) or "").strip():
        yield "no docstring of the module"


RULES = (
    Rule(
        "names denote a concept",
        vague_name,
        below(*PYTHON),
        invalid=(
            Source("runtime/utils.py", ""),
            Source("managers/pod_helpers.py", ""),
            Source("managers/common/plan.py", ""),
            Source("managers/certs/plan.py", "class CertManager: ..."),
            Source("managers/certs/plan.py", "class PodHelpers: ..."),
        ),
        valid=(Source("runtime/process/manager.py", "class Manager: ..."),),
    ),
    Rule(
        "retired names are not used",
        retired_name,
        below(*PYTHON),
        invalid=(
            Source("e2e/harness/operator.py", "def said(x): ..."),
            Source("tests/runtime/witness.py", ""),
            Source("managers/cluster/pulse.py", ""),
            Source("managers/backup/plan.py", "class BackupHands: ..."),
            Source("managers/backup/plan.py", "def _told(x): ..."),
        ),
        valid=(
            Source("managers/backup/plan.py", "class Handle: ...\ndef untold(x): ..."),
            Source("tests/runtime/test_events.py", "def test_it_is_told_once(): ..."),
        ),
    ),
    Rule(
        "names of objects are created in contracts.naming.names",
        stray_name,
        below("managers"),
        invalid=(
            Source("managers/certs/plan.py", 'secret = f"{cluster}-tls-ca"'),
            Source("managers/certs/plan.py", 'prefix = f"data-{cluster}"'),
            Source("managers/certs/plan.py", 'secret = cluster + "-tls-ca"'),
        ),
        valid=(
            Source("managers/certs/plan.py", 'message = f"{name} - gone"'),
            Source("managers/certs/plan.py", 'flag = f"-config={folder}/config.hcl"'),
            Source("managers/certs/plan.py", 'text = "a-b" + "-c"'),
        ),
    ),
    Rule(
        "a module has a docstring",
        missing_docstring,
        below(*PYTHON),
        invalid=(
            Source("runtime/queue/__init__.py", ""),
            Source("runtime/queue.py", "# a queue\nx = 1\n"),
        ),
        valid=(Source("runtime/queue.py", '"""A queue."""\n'),),
    ),
)
