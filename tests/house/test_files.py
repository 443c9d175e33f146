"""Every rule about single files: the checkout complies with it, and violations are reported."""

import ast

import pytest

from tests.house import clock_and_random, forbidden_text, module_imports, naming, reasons, sizes
from tests.house.checkout import LAYERS, PYTHON, Source, files, python_sources, sources
from tests.house.rule import Rule, expect_none

RULES = (
    *sizes.RULES,
    *naming.RULES,
    *clock_and_random.RULES,
    *forbidden_text.RULES,
    *reasons.RULES,
    *module_imports.RULES,
)
_BY_NAME = [pytest.param(rule, id=rule.name) for rule in RULES]
_INVALID = [pytest.param(r, s, id=f"{r.name}-{n}") for r in RULES for n, s in enumerate(r.invalid)]
_VALID = [pytest.param(r, s, id=f"{r.name}-{n}") for r in RULES for n, s in enumerate(r.valid)]


@pytest.mark.parametrize("rule", _BY_NAME)
def test_the_checkout_complies_with_the_rule(rule: Rule) -> None:
    violations = (sentence for source in sources() for sentence in rule.violations(source))
    expect_none(violations, rule.name)


@pytest.mark.parametrize(("rule", "planted"), _INVALID)
def test_a_planted_violation_is_reported(rule: Rule, planted: Source) -> None:
    assert rule.violations(planted)


@pytest.mark.parametrize(("rule", "allowed"), _VALID)
def test_a_valid_file_is_not_reported(rule: Rule, allowed: Source) -> None:
    assert rule.violations(allowed) == []


@pytest.mark.parametrize("rule", _BY_NAME)
def test_every_rule_applies_to_some_file(rule: Rule) -> None:
    assert any(rule.holds_in(path) for path in files())


@pytest.mark.parametrize("top", PYTHON)
def test_every_folder_is_read(top: str) -> None:
    assert len(python_sources(top)) > 1


def test_ignored_files_are_not_read() -> None:
    assert not [path for path in files() if "__pycache__" in path or path.startswith(".venv/")]


def test_public_class_names_are_unique() -> None:
    defined: dict[str, list[str]] = {}
    for source in python_sources(*LAYERS):
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                defined.setdefault(node.name, []).append(source.path)
    twice = (f"{name}: {', '.join(paths)}" for name, paths in defined.items() if len(paths) > 1)
    expect_none(twice, "class names with two meanings")
