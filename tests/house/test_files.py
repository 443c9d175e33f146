"""Every rule about single files: the checkout keeps it, and what breaks it is reported."""

import ast

import pytest

from tests.house import module_imports, naming, reasons, sizes, time_and_chance, words
from tests.house.checkout import LAYERS, PYTHON, Source, files, python_sources, sources
from tests.house.rule import Rule, expect_none

RULES = (
    *sizes.RULES,
    *naming.RULES,
    *time_and_chance.RULES,
    *words.RULES,
    *reasons.RULES,
    *module_imports.RULES,
)
_BY_NAME = [pytest.param(rule, id=rule.name) for rule in RULES]
_BROKEN = [pytest.param(r, s, id=f"{r.name}-{n}") for r in RULES for n, s in enumerate(r.broken)]
_KEPT = [pytest.param(r, s, id=f"{r.name}-{n}") for r in RULES for n, s in enumerate(r.kept)]


@pytest.mark.parametrize("rule", _BY_NAME)
def test_the_checkout_keeps_the_rule(rule: Rule) -> None:
    violations = (sentence for source in sources() for sentence in rule.violations(source))
    expect_none(violations, rule.name)


@pytest.mark.parametrize(("rule", "planted"), _BROKEN)
def test_a_planted_violation_is_reported(rule: Rule, planted: Source) -> None:
    assert rule.violations(planted)


@pytest.mark.parametrize(("rule", "allowed"), _KEPT)
def test_what_is_allowed_is_not_reported(rule: Rule, allowed: Source) -> None:
    assert rule.violations(allowed) == []


@pytest.mark.parametrize("rule", _BY_NAME)
def test_a_rule_holds_somewhere(rule: Rule) -> None:
    assert any(rule.holds_in(path) for path in files())


@pytest.mark.parametrize("top", PYTHON)
def test_each_folder_is_looked_at(top: str) -> None:
    assert len(python_sources(top)) > 1


def test_what_git_ignores_is_not_looked_at() -> None:
    assert not [path for path in files() if "__pycache__" in path or path.startswith(".venv/")]


def test_a_public_class_name_is_defined_once() -> None:
    defined: dict[str, list[str]] = {}
    for source in python_sources(*LAYERS):
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                defined.setdefault(node.name, []).append(source.path)
    twice = (f"{name}: {', '.join(paths)}" for name, paths in defined.items() if len(paths) > 1)
    expect_none(twice, "class names with two meanings")
