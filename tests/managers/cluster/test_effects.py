"""managers.cluster.effects: every effect that a plan names has a function, and the other way."""

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import managers
from contracts.desired import Effect
from contracts.resolved import Resolved
from managers.access.context import Context
from managers.cluster import effects
from managers.cluster.effects import EFFECTS, run_effects
from tests import gen
from tests.gen.api import Outside

PLANS = [
    importlib.import_module(f"managers.{package.name}.plan")
    for package in pkgutil.iter_modules(managers.__path__)
    if Path(managers.__path__[0], package.name, "plan.py").exists()
]


def _effects_named_in_plans() -> set[str]:
    """The first argument of each `Effect(...)` in a plan, read from the source."""
    named = set()
    for module in PLANS:
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Effect":
                (first, *_) = node.args
                assert isinstance(first, ast.Name), ast.dump(first)
                named.add(getattr(module, first.id))
    return named


def test_the_table_is_complete_and_holds_nothing_else() -> None:
    named = _effects_named_in_plans()
    assert len(PLANS) >= 5
    assert named == EFFECTS.keys()


def test_no_two_effects_share_a_function() -> None:
    assert len(set(EFFECTS.values())) == len(EFFECTS)


async def test_they_run_in_order_with_their_own_arguments_and_stop_at_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[tuple[str, str]] = []

    async def note(context: Context, resolved: Resolved, effect: Effect) -> None:
        ran.append((effect.name, effect.target))
        if effect.target == "bad":
            raise RuntimeError(effect.target)

    monkeypatch.setattr(effects, "EFFECTS", {"a": note, "b": note})
    wanted = (Effect("a", "1"), Effect("b", "2"), Effect("a", "bad"), Effect("b", "3"))
    with pytest.raises(RuntimeError, match="bad"):
        await run_effects(Outside().context, gen.resolved(gen.cluster()), wanted)
    assert ran == [("a", "1"), ("b", "2"), ("a", "bad")]


async def test_an_effect_that_nobody_knows_is_a_bug() -> None:
    with pytest.raises(KeyError):
        await run_effects(Outside().context, gen.resolved(gen.cluster()), (Effect("dance", "now"),))
