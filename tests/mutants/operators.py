"""The mutants of a Python file: each operator changes one place of its text. Pure.

Uses ast for what there is and the text itself for the change, so that line numbers stay the same.
Called by the command and by the runner.
"""

import ast
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.mutants.mutable import mutable_nodes
from tests.mutants.positions import Positions

_COMPARISONS = {
    "==": "!=",
    "!=": "==",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "in": "not in",
    "not in": "in",
    "is": "is not",
    "is not": "is",
}
_COMPLEMENTS = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)
_SIGNS = {"+": "-", "-": "+", "+=": "-=", "-=": "+="}
_PARENTHESES = frozenset({"(", ")"})
_SEQUENCES = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)
_TABLE_ROWS = 3


@dataclass(frozen=True, slots=True, order=True)
class Mutant:
    """One change of one file. `start` and `end` are the offsets of the text that is replaced."""

    path: str
    line: int
    column: int
    operator: str
    before: str
    after: str
    start: int
    end: int

    @property
    def place(self) -> str:
        """Path, line and column, as editors read them."""
        return f"{self.path}:{self.line}:{self.column}"

    @property
    def change(self) -> str:
        """The change in one line."""
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{before} -> {after or '(nothing)'}"


@dataclass(frozen=True, slots=True)
class Edit:
    """A part of a text and what replaces it."""

    start: int
    end: int
    after: str


Operator = Callable[[ast.AST, Positions], Iterator[Edit]]


def mutants_of(path: str, text: str) -> list[Mutant]:
    """All mutants of a file, sorted. Raises SyntaxError."""
    at = Positions(text)
    return sorted(
        _mutant(path, at, name, edit)
        for node in mutable_nodes(ast.parse(text))
        for name, operator in OPERATORS.items()
        for edit in operator(node, at)
    )


def _mutant(path: str, at: Positions, operator: str, edit: Edit) -> Mutant:
    before = at.text[edit.start : edit.end]
    # What is on the lines below has to stay there.
    after = edit.after + "\n" * (before.count("\n") - edit.after.count("\n"))
    return Mutant(path, *at.place(edit.start), operator, before, after, edit.start, edit.end)


def enumerate_mutants(files: Mapping[str, str]) -> list[Mutant]:
    """All mutants of files by path, sorted."""
    return [mutant for path in sorted(files) for mutant in mutants_of(path, files[path])]


def digest(mutants: Iterable[Mutant]) -> str:
    """A short hash of a list of mutants: two lists with the same hash are equal."""
    return hashlib.sha256(repr(list(mutants)).encode()).hexdigest()[:12]


def apply_mutant(text: str, mutant: Mutant) -> str:
    """The text with the change. Raises ValueError when the text is not the one of the mutant."""
    if text[mutant.start : mutant.end] != mutant.before:
        raise ValueError(f"{mutant.place} is not {mutant.before!r}")
    return text[: mutant.start] + mutant.after + text[mutant.end :]


def comparison(node: ast.AST, at: Positions) -> Iterator[Edit]:
    """Swap one comparison with its complement, or an open limit with a closed one."""
    if isinstance(node, ast.Compare):
        for left, right in pairwise([node.left, *node.comparators]):
            yield from _swap(at, left, right, _COMPARISONS)


def and_or(node: ast.AST, at: Positions) -> Iterator[Edit]:
    """Swap `and` with `or`."""
    if isinstance(node, ast.BoolOp):
        for left, right in pairwise(node.values):
            yield from _swap(at, left, right, {"and": "or", "or": "and"})


def plus_minus(node: ast.AST, at: Positions) -> Iterator[Edit]:
    """Swap `+` with `-`, except next to a text or a list, where it is always an error."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            if not _is_sequence(left) and not _is_sequence(right):
                yield from _swap(at, left, right, _SIGNS)
        case ast.AugAssign(target=target, op=ast.Add() | ast.Sub(), value=value):
            if not _is_sequence(value):
                yield from _swap(at, target, value, _SIGNS)


def _swap(
    at: Positions, left: ast.expr, right: ast.expr, words: Mapping[str, str]
) -> Iterator[Edit]:
    gap = at.between(at.end(left), at.start(right))
    tokens = [token for token in gap if token.text not in _PARENTHESES]
    word = " ".join(token.text for token in tokens)
    yield Edit(tokens[0].start, tokens[-1].end, words[word])


def _is_sequence(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str() | bytes()):
            return True
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_sequence(left) or _is_sequence(right)
        case _:
            return isinstance(node, _SEQUENCES)


def not_removed(node: ast.AST, at: Positions) -> Iterator[Edit]:
    """Remove a `not`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        word, following = at.between(at.start(node), at.end(node))[:2]
        yield Edit(word.start, following.start, "")


def condition(node: ast.AST, at: Positions) -> Iterator[Edit]:
    """Negate what `if`, `while`, a conditional expression, a filter or a guard depends on."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            tests = [test]
        case ast.comprehension(ifs=tests):
            pass
        case ast.match_case(guard=ast.expr() as test):
            tests = [test]
        case _:
            return
    for test in tests:
        if not _is_negated_elsewhere(test):
            start, end = at.start(test), at.end(test)
            yield Edit(start, end, f"not ({at.text[start:end]})")


def _is_negated_elsewhere(test: ast.expr) -> bool:
    """Whether another operator makes the same change: one `not` removed, one comparison swapped."""
    match test:
        case ast.Constant() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Compare(ops=[only]):
            return isinstance(only, _COMPLEMENTS)
        case _:
            return False


def boolean(node: ast.AST, at: Positions) -> Iterator[Edit]:
    """Swap True with False."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield Edit(at.start(node), at.end(node), str(not node.value))


def integer(node: ast.AST, at: Positions) -> Iterator[Edit]:
    """Replace n by n + 1, in the same base."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        start, end = at.start(node), at.end(node)
        base = {"0o": oct, "0x": hex, "0b": bin}.get(at.text[start : start + 2].lower(), str)
        yield Edit(start, end, base(node.value + 1))


def returned(node: ast.AST, at: Positions) -> Iterator[Edit]:
    """Return None instead of a value that is neither None nor False."""
    if isinstance(node, ast.Return) and node.value is not None:
        value = node.value
        if not isinstance(value, ast.Constant) or value.value not in (None, False):
            yield Edit(at.start(value), at.end(value), "None")


def call_removed(node: ast.AST, at: Positions) -> Iterator[Edit]:
    """Remove a call whose result nobody uses."""
    match node:
        case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call())):
            yield Edit(at.start(node), at.end(node), "pass")


def loop(node: ast.AST, at: Positions) -> Iterator[Edit]:
    """Swap `continue` with `break`."""
    match node:
        case ast.Continue():
            yield Edit(at.start(node), at.end(node), "break")
        case ast.Break():
            yield Edit(at.start(node), at.end(node), "continue")


def entry_removed(node: ast.AST, at: Positions) -> Iterator[Edit]:
    """Remove an entry of a dict, or a row of a table: three or more calls or tuples in a row."""
    match node:
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            spans = [(_entry_start(at, key, value), _entry_end(at, value)) for key, value in pairs]
        case ast.Tuple(elts=rows) | ast.List(elts=rows) if _is_table(rows):
            spans = [(at.start(row), at.end(row)) for row in rows]
        case _:
            return
    if len(spans) > 1:
        yield from _without_one(at, spans)


def _entry_start(at: Positions, key: ast.expr | None, value: ast.expr) -> int:
    """Where an entry of a dict starts; `**other` has no key, and may have parentheses."""
    if key is not None:
        return at.start(key)
    token = at.before(at.start(value))
    while token.text in _PARENTHESES:
        token = at.before(token.start)
    return token.start


def _entry_end(at: Positions, value: ast.expr) -> int:
    """Where an entry of a dict ends: a parenthesis that closes behind the value is a part of it."""
    end = at.end(value)
    while (token := at.behind(end)).text == ")":
        end = token.end
    return end


def _is_table(rows: Sequence[ast.expr]) -> bool:
    kinds = (ast.Call, ast.Tuple)
    return len(rows) >= _TABLE_ROWS and all(isinstance(row, kinds) for row in rows)


def _without_one(at: Positions, spans: Sequence[tuple[int, int]]) -> Iterator[Edit]:
    """Remove each part together with the comma behind it, the last one with the comma before it."""
    for (start, end), (next_start, _) in pairwise(spans):
        if _is_comma(at, end, next_start):
            yield Edit(start, next_start, "")
    (_, previous_end), (start, end) = spans[-2:]
    if _is_comma(at, previous_end, start):
        yield Edit(previous_end, end, "")


def _is_comma(at: Positions, start: int, end: int) -> bool:
    return [token.text for token in at.between(start, end)] == [","]


OPERATORS: Mapping[str, Operator] = {
    "and-or": and_or,
    "boolean": boolean,
    "call": call_removed,
    "comparison": comparison,
    "condition": condition,
    "entry": entry_removed,
    "integer": integer,
    "loop": loop,
    "not": not_removed,
    "plus-minus": plus_minus,
    "return": returned,
}
