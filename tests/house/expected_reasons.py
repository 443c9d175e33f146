"""Reasons are API: none is removed, and a test expects each.

Uses the standard library. A reason is expected if a test file contains its name in a string
that is not an input. The name as an argument of `Wait`, `Blocked`, `ConditionUpdate`, `Reason` or
`condition`, or as a value of a dict entry `reason`, is an input, and proves nothing.
The others are expected values: on the right side of an assertion, as in `("False", "NotReady")`,
"False NotReady" or `reason="NotReady"`, or by the name of a constant of the product. The
files are parsed and not run, so this applies to unit tests and scenarios alike; the test itself
verifies the expectation.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from tests.house.checkout import Source

_INPUTS = frozenset(
    {"Wait", "Blocked", "Reason", "ConditionType", "condition"}
    | {"ConditionUpdate", "DatacenterCondition", "ProvisionedCondition"}
)
_WORD = re.compile(r"[A-Za-z]+")


def unexpected(
    names: Iterable[str], tests: Iterable[Source], product: Iterable[Source] = ()
) -> list[str]:
    """The names that no test expects, neither as a string nor by a constant of the product."""
    constants = {name: text for source in product for name, text in _constants(source)}
    expected = {
        word for source in tests for text in _texts(source, constants) for word in _words(text)
    }
    return sorted(set(names) - expected)


def removed(shown_before: str, now: str) -> list[str]:
    """Lines of the list of released reasons that the catalog does not contain any more."""
    return sorted({*shown_before.split("\n")} - {*now.split("\n")} - {""})


def _words(text: str) -> list[str]:
    # A sentence that contains the word is not an expectation.
    words = text.split()
    return [word for word in words if _WORD.fullmatch(word)] if len(words) <= 2 else []


def _texts(source: Source, constants: Mapping[str, str]) -> Iterator[str]:
    compared = {id(right) for node in source.nodes for right in _comparisons(node)}
    fed = {
        id(node) for call in source.nodes if id(call) not in compared for node in _arguments(call)
    }
    for node in source.nodes:
        match node:
            case _ if id(node) in fed:
                pass
            case ast.Constant(value=str() as text):
                yield text
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in constants:
                yield constants[name]


def _comparisons(node: ast.AST) -> Iterator[ast.AST]:
    """The expected value of an assertion: the right side of its comparison."""
    match node:
        case ast.Assert(test=ast.Compare(comparators=comparators)):
            for right in comparators:
                yield from ast.walk(right)


def _constants(source: Source) -> Iterator[tuple[str, str]]:
    for node in source.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str() as text)):
                yield name, text


def _arguments(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _INPUTS:
            yield from node.args
            yield from (keyword.value for keyword in node.keywords)
        case ast.Dict():
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "reason":
                    yield value
