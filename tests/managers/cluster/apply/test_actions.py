"""managers.cluster.apply.actions: every effect of a plan has a function, and the other way."""

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import managers
from contracts.records.desired import Effect
from contracts.records.resolved import Resolved
from managers.cluster.apply import actions
from managers.cluster.apply.actions import EFFECTS, SERVER_EFFECTS, ClusterEffects
from managers.context.context import Context
from managers.upgrade.actions import UPGRADE_EFFECTS
from tests import gen
from tests.gen.api import Outside

PLANNING = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(managers.__path__, "managers.")
    if not module.name.startswith("managers.cluster")
]


def _effects_named_in_plans() -> set[str]:
    """The first argument of each `Effect(...)`, read from the source: a constant, or a table."""
    named: set[str] = set()
    for module in PLANNING:
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Effect":
                match node.args[0]:
                    case ast.Name(id=constant):
                        named.add(getattr(module, constant))
                    case ast.Subscript(value=ast.Name(id=table)):
                        named.update(getattr(module, table).values())
                    case other:
                        raise AssertionError(f"{module.__name__}: {ast.dump(other)}")
    return named


def test_the_table_is_complete_and_holds_nothing_else() -> None:
    named = _effects_named_in_plans()
    assert len(named) >= 12
    assert named == EFFECTS.keys() | SERVER_EFFECTS.keys() | UPGRADE_EFFECTS
    assert not EFFECTS.keys() & SERVER_EFFECTS.keys()
    assert not UPGRADE_EFFECTS & (EFFECTS.keys() | SERVER_EFFECTS.keys())


def test_no_two_effects_share_a_function() -> None:
    both = (*EFFECTS.values(), *SERVER_EFFECTS.values())
    assert len(set(both)) == len(both)


async def test_they_run_in_order_with_their_own_arguments_and_stop_at_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[tuple[str, str]] = []

    async def note(context: Context, resolved: Resolved, effect: Effect) -> None:
        ran.append((effect.name, effect.target))
        if effect.target == "bad":
            raise RuntimeError(effect.target)

    monkeypatch.setattr(actions, "EFFECTS", {"a": note, "b": note})
    wanted = (Effect("a", "1"), Effect("b", "2"), Effect("a", "bad"), Effect("b", "3"))
    there = Outside()
    with pytest.raises(RuntimeError, match="bad"):
        await ClusterEffects(there.context, there.logins).run(gen.resolved(gen.cluster()), wanted)
    assert ran == [("a", "1"), ("b", "2"), ("a", "bad")]


async def test_an_effect_that_nobody_knows_is_a_bug() -> None:
    there, meant = Outside(), gen.resolved(gen.cluster())
    with pytest.raises(KeyError):
        await ClusterEffects(there.context, there.logins).run(meant, (Effect("dance", "now"),))
