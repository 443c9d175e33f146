"""managers.cluster.apply.actions: every effect of a plan has a function, and vice versa."""

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import managers
from contracts.api.group import CLUSTERS
from contracts.records import effects, upgrade_effects
from contracts.records.effects import Effect, FencePod, UngatePod
from contracts.records.resolved import Resolved
from managers.cluster.apply import actions
from managers.cluster.apply.actions import ClusterEffects
from managers.context.context import Context
from managers.jobs.client import Jobs
from managers.operation_lock.client import OperationLocks
from managers.upgrade.actions import UpgradeActions
from tests import gen
from tests.gen.api import Outside, StillInformer
from tests.gen.job_templates import FixedJobTemplates, upgrader

PLANNING = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages(managers.__path__, "managers.")
    if not module.name.startswith("managers.cluster")
]


EFFECT_TYPES = {
    kind
    for kind in (*vars(effects).values(), *vars(upgrade_effects).values())
    if isinstance(kind, type) and issubclass(kind, Effect) and hasattr(kind, "name")
}


def _handlers() -> tuple[UpgradeActions, ClusterEffects]:
    there, source = Outside(), FixedJobTemplates(upgrader())
    locks = OperationLocks(there.api, StillInformer(CLUSTERS), there.clock)
    upgrades = UpgradeActions(locks, Jobs(there.api), source)
    return upgrades, ClusterEffects(there.context, there.logins, upgrades)


def test_every_effect_has_one_function_and_is_planned_somewhere() -> None:
    upgrades, cluster = _handlers()
    assert cluster.table.keys() | upgrades.decided.keys() == EFFECT_TYPES
    assert not cluster.table.keys() & upgrades.decided.keys()
    used = {
        node.id
        for module in PLANNING
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")))
        if isinstance(node, ast.Name) and not module.__name__.endswith("actions")
    }
    assert {kind.__name__ for kind in EFFECT_TYPES} <= used


def test_no_two_effects_share_a_function_or_a_name() -> None:
    upgrades, cluster = _handlers()
    both = (*cluster.table.values(), *upgrades.decided.values())
    assert len(set(both)) == len(both) == len({kind.name for kind in EFFECT_TYPES})


async def test_they_run_in_order_and_stop_at_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, str]] = []

    async def note(context: Context, resolved: Resolved, effect: Effect) -> None:
        ran.append((effect.name, effect.target))
        if effect.target == "bad":
            raise RuntimeError(effect.target)

    monkeypatch.setattr(actions, "EFFECTS", {FencePod: note, UngatePod: note})
    pods = (FencePod("1", ""), UngatePod("2", ""), FencePod("bad", ""), UngatePod("3", ""))
    there = Outside()
    with pytest.raises(RuntimeError, match="bad"):
        await ClusterEffects(there.context, there.logins).run(gen.resolved(gen.cluster()), pods)
    assert ran == [("fence-pod", "1"), ("ungate-pod", "2"), ("fence-pod", "bad")]


async def test_an_unknown_effect_is_a_bug() -> None:
    there, meant = Outside(), gen.resolved(gen.cluster())
    with pytest.raises(KeyError):
        await ClusterEffects(there.context, there.logins).run(meant, (Effect("now"),))
