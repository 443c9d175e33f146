"""What the rules about spec.upgrade refuse."""

from typing import Any

from tests.contracts.api.case import Case
from tests.contracts.api.clusters import with_request

_GREEN = {"strategy": "BlueGreen", "jwtAuthRole": "upgrade"}


def _strategy(**spec: Any) -> dict[str, Any]:
    return {"upgrade": _GREEN, **spec}


CASES: dict[str, Case] = {
    "a snapshot without a backup target": Case(
        "upgrade-snapshot",
        "spec.upgrade.preUpgradeSnapshot",
        {"upgrade": {"preUpgradeSnapshot": True}},
    ),
    "a blue/green snapshot without a backup target": Case(
        "upgrade-snapshot",
        "spec.upgrade.blueGreen.preUpgradeSnapshot",
        {"upgrade": {"blueGreen": {"preUpgradeSnapshot": True}}},
    ),
    "a green pool without a login": Case(
        "blue-green-role",
        "spec.upgrade.jwtAuthRole",
        {"upgrade": {"strategy": "BlueGreen"}, "selfInit": with_request()},
    ),
    "a new strategy together with a new version": Case(
        "upgrade-strategy-alone",
        "spec.upgrade.strategy",
        _strategy(version="2.4.1"),
        before={"version": "2.4.0"},
    ),
    "a new strategy together with more servers": Case(
        "upgrade-strategy-alone", "spec.upgrade.strategy", _strategy(replicas=5), before={}
    ),
    "a new strategy in the middle of a backup": Case(
        "upgrade-strategy-idle",
        "spec.upgrade.strategy",
        _strategy(),
        before={},
        status={"operationLock": {"operation": "Backup", "holder": "openbaocluster/backup"}},
    ),
    "a new strategy in the middle of an upgrade": Case(
        "upgrade-strategy-idle",
        "spec.upgrade.strategy",
        {},
        before=_strategy(),
        status={"blueGreen": {"phase": "Syncing"}},
    ),
    "a new strategy for servers that do not serve": Case(
        "upgrade-strategy-healthy",
        "spec.upgrade.strategy",
        _strategy(),
        before={},
        status={
            "conditions": [
                {
                    "type": "Available",
                    "status": "False",
                    "reason": "NotReady",
                    "message": "no server is ready",
                    "lastTransitionTime": "2026-01-31T12:00:00Z",
                }
            ]
        },
    ),
    "a new strategy with an unhandled request": Case(
        "upgrade-strategy-orders",
        "spec.upgrade.strategy",
        {"upgrade": {**_GREEN, "requests": {"retry": "try-2"}}},
        before={"upgrade": {"requests": {"retry": "try-2"}}},
        status={"upgradeRequests": {"lastHandledRetry": "try-1"}},
    ),
}
