"""The mutants of small texts, and what is left out."""

import ast

import pytest

from tests.mutants.operators import Mutant, apply_mutant, digest, enumerate_mutants, mutants_of

CHANGED = [
    ("x = a == b", "comparison", ["x = a != b"]),
    ("x = a < b <= c", "comparison", ["x = a <= b <= c", "x = a < b < c"]),
    ("x = (a) not in (b, c)", "comparison", ["x = (a) in (b, c)"]),
    ("x = a is (not b)", "comparison", ["x = a is not (not b)"]),
    ("x = 'ä' == b == c", "comparison", ["x = 'ä' != b == c", "x = 'ä' == b != c"]),
    ("x = a and b or c", "and-or", ["x = a or b or c", "x = a and b and c"]),
    ("x = not a", "not", ["x = a"]),
    ("x = not(a or b)", "not", ["x = (a or b)"]),
    ("if a < b:\n    f()", "condition", ["if not (a < b):\n    f()"]),
    ("while a:\n    f()", "condition", ["while not (a):\n    f()"]),
    ("x = [a for a in b if a.c]", "condition", ["x = [a for a in b if not (a.c)]"]),
    ("x = a if b else c", "condition", ["x = a if not (b) else c"]),
    ("x = True", "boolean", ["x = False"]),
    ("x = f(1, 0o17)", "integer", ["x = f(2, 0o17)", "x = f(1, 0o20)"]),
    ("x = a - b", "plus-minus", ["x = a + b"]),
    ("x += a", "plus-minus", ["x -= a"]),
    ("def f():\n    return g(\n    )\nx = 1", "return", ["def f():\n    return None\n\nx = 1"]),
    ("f(a)", "call", ["pass"]),
    ("async def f():\n    await g(\n    )\n    h()", "call", [
        "async def f():\n    pass\n\n    h()", "async def f():\n    await g(\n    )\n    pass",
    ]),
    ("for a in b:\n    continue", "loop", ["for a in b:\n    break"]),
    ("x = {'a': 1, **b, 'c': (\n    d)}", "entry", [
        "x = {**b, 'c': (\n    d)}", "x = {'a': 1, 'c': (\n    d)}", "x = {'a': 1, **b\n}",
    ]),
    ("x = (f(1), f(2), f(3))", "entry", [
        "x = (f(2), f(3))", "x = (f(1), f(3))", "x = (f(1), f(2))",
    ]),
]  # fmt: skip

LEFT_OUT = [
    '"""A docstring."""',
    "x: Literal[True]",
    "def f(a: Literal[1]) -> Literal[2]: ...",
    "@dataclass(frozen=True)\nclass A: ...",
    "raise ValueError(a == b)",
    "log.info('done', count=a + 1)",
    "self._log.warning('done')",
    "if TYPE_CHECKING:\n    f()",
    "if __name__ == '__main__':\n    main()",
    "T = TypeVar('T', covariant=True)",
    "x = f'{a == b}'",
    "x = a + 'text'",
    "x = a + [b]",
    "def f():\n    return",
    "def f():\n    return None",
    "x = (a(), b())",
    "x = [a, b, c]",
    "assert_never(x)",
]


def _of(text: str, operator: str) -> list[Mutant]:
    return [mutant for mutant in mutants_of("a.py", text) if mutant.operator == operator]


@pytest.mark.parametrize(("text", "operator", "expected"), CHANGED)
def test_an_operator_creates_these_mutants(text: str, operator: str, expected: list[str]) -> None:
    assert [apply_mutant(text, mutant) for mutant in _of(text, operator)] == expected


@pytest.mark.parametrize(("text", "operator", "expected"), CHANGED)
def test_a_mutant_is_valid_python_with_the_same_lines(
    text: str, operator: str, expected: list[str]
) -> None:
    for mutant in mutants_of("a.py", text):
        ast.parse(apply_mutant(text, mutant))
        assert apply_mutant(text, mutant).count("\n") == text.count("\n")


@pytest.mark.parametrize("text", LEFT_OUT)
def test_an_excluded_part_has_no_mutant(text: str) -> None:
    assert mutants_of("a.py", text) == []


@pytest.mark.parametrize("test", ["not a", "a == b", "a in b", "True"])
def test_a_condition_is_not_negated_twice(test: str) -> None:
    assert _of(f"while {test}:\n    f()", "condition") == []


def test_lines_and_columns_of_a_mutant_start_at_one() -> None:
    (mutant,) = _of("x = 1\ny = 'ä', not a\n", "not")
    assert mutant.place == "a.py:2:10"
    assert mutant.change == "not -> (nothing)"


def test_a_mutant_of_another_text_is_refused() -> None:
    (mutant,) = mutants_of("a.py", "x = True")
    with pytest.raises(ValueError, match=r"a\.py:1:5"):
        apply_mutant("y  = True", mutant)


def test_the_digest_depends_on_the_mutants_and_not_on_the_order_of_files() -> None:
    files = {"b.py": "x = 1", "a.py": "x = True"}
    again = dict(reversed(files.items()))
    assert digest(enumerate_mutants(files)) == digest(enumerate_mutants(again))
    assert digest(enumerate_mutants(files)) != digest(enumerate_mutants({**files, "b.py": "x = 2"}))
