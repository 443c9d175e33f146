"""Rules about spec.upgrade: requirements of an upgrade, and changes of its strategy.

Uses the API models. Collected by contracts.api.rules.cluster.
"""

from collections.abc import Iterator
from typing import Any

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.checks import Predicate, both, either, group, has, is_set
from contracts.api.rules.combinators import rule
from contracts.api.rules.rule import FORBIDDEN, REQUIRED, InvalidField, Old, Rule, RuleOf
from contracts.api.rules.spec import JOB_ROLES
from contracts.upgrade_requests import UPGRADE_REQUESTS

_SWITCHES = ("upgrade.preUpgradeSnapshot", "upgrade.blueGreen.preUpgradeSnapshot")


def _snapshot(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    upgrade = new.spec.upgrade
    if upgrade is None or new.spec.backup:
        return
    if upgrade.pre_upgrade_snapshot:
        yield "spec.upgrade.preUpgradeSnapshot", True
    if upgrade.blue_green and upgrade.blue_green.pre_upgrade_snapshot:
        yield "spec.upgrade.blueGreen.preUpgradeSnapshot", True


def _strategy(cluster: OpenBaoCluster) -> str:
    return cluster.spec.upgrade.strategy if cluster.spec.upgrade else "RollingUpdate"


def _changes_strategy(new: OpenBaoCluster, old: Old) -> bool:
    return old is not None and _strategy(new) != _strategy(old)


def _idle(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    status = new.status
    busy = (
        status.upgrade is not None
        or status.operation_lock is not None
        or (status.blue_green is not None and status.blue_green.phase != "Idle")
    )
    if _changes_strategy(new, old) and busy:
        yield "spec.upgrade.strategy", _strategy(new)


def _unhealthy(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    unhealthy = any(
        condition.type == "Available" and condition.status != "True"
        for condition in new.status.conditions
    )
    if _changes_strategy(new, old) and unhealthy:
        yield "spec.upgrade.strategy", _strategy(new)


def _pending_requests(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    if new.pending_upgrade_requests and _changes_strategy(new, old):
        yield "spec.upgrade.strategy", _strategy(new)


_NOW, _BEFORE = both("upgrade.strategy", "RollingUpdate")
_SPEC_NOW, _SPEC_BEFORE = both("spec.upgrade.strategy", "RollingUpdate")


def _stays(field: str, default: Any) -> Predicate:
    now, before = both(field, default)
    return now.equals(before)


_IS_AVAILABLE = (
    f"!{is_set('status.conditions')} || !self.status.conditions.exists(one, "
    "one.type == 'Available' && one.status != 'True')"
)
_REQUESTS_ARE_HANDLED = " && ".join(
    f"(!{is_set(f'spec.upgrade.requests.{request}')} || "
    f"self.spec.upgrade.requests.{request} == "
    f"{either(f'status.upgradeRequests.lastHandled{request.capitalize()}', '')})"
    for request in UPGRADE_REQUESTS
)
_IS_IDLE = (
    "!has(self.status) || (!has(self.status.upgrade) && !has(self.status.operationLock) && "
    "(!has(self.status.blueGreen) || !has(self.status.blueGreen.phase) || "
    "self.status.blueGreen.phase == 'Idle'))"
)

UPGRADE_RULES: tuple[Rule, ...] = (
    RuleOf(
        "upgrade-snapshot",
        "spec",
        "spec.upgrade",
        "must not request a snapshot before the upgrade without spec.backup, which has its store; "
        "add spec.backup or set preUpgradeSnapshot to false",
        _snapshot,
        cel="has(self.backup) || ("
        + " && ".join(f"!{either(switch, False)}" for switch in _SWITCHES)
        + ")",
    ),
    rule(
        "blue-green-role",
        "spec",
        "upgrade",
        "must be able to log in for strategy BlueGreen: enable selfInit.oidc or set "
        "upgrade.jwtAuthRole",
        _NOW.differs("BlueGreen") | has("upgrade.jwtAuthRole") | JOB_ROLES,
        names="upgrade.jwtAuthRole",
        reason=REQUIRED,
    ),
    rule(
        "upgrade-strategy-alone",
        "spec",
        "upgrade.strategy",
        "must not change together with version, image or replicas; change it first, and change the "
        "others once it is accepted",
        _NOW.equals(_BEFORE)
        | group(_stays("version", "") & _stays("image", "") & _stays("replicas", 3)),
        got=_NOW,
        reason=FORBIDDEN,
    ),
    RuleOf(
        "upgrade-strategy-idle",
        "",
        "spec.upgrade.strategy",
        "spec.upgrade.strategy must not change while an upgrade, backup or restore runs; wait "
        "until it ends",
        _idle,
        cel=f"{_SPEC_NOW} == {_SPEC_BEFORE} || {_IS_IDLE}",
        got=_SPEC_NOW.cel,
        reason=FORBIDDEN,
    ),
    RuleOf(
        "upgrade-strategy-healthy",
        "",
        "spec.upgrade.strategy",
        "spec.upgrade.strategy must not change while the cluster is not Available; repair it first",
        _unhealthy,
        cel=f"{_SPEC_NOW} == {_SPEC_BEFORE} || {_IS_AVAILABLE}",
        got=_SPEC_NOW.cel,
        reason=FORBIDDEN,
    ),
    RuleOf(
        "upgrade-strategy-orders",
        "",
        "spec.upgrade.strategy",
        "spec.upgrade.strategy must not change before all requests of spec.upgrade.requests are "
        "handled; wait, or remove the request",
        _pending_requests,
        cel=f"{_SPEC_NOW} == {_SPEC_BEFORE} || ({_REQUESTS_ARE_HANDLED})",
        got=_SPEC_NOW.cel,
        reason=FORBIDDEN,
    ),
)
