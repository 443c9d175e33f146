"""A release that is refused never becomes the target of an upgrade that is in progress."""

from datetime import timedelta

import pytest

from managers.operation_lock.holders import UPGRADE_HOLDER
from managers.upgrade.decide import decide_upgrade
from tests import gen

OLD = "2.4.1"
NEW = "2.4.2"
OLDER = "2.4.0"
DEADLINE = timedelta(minutes=10)
UPGRADE = {
    "phase": "Snapshot",
    "id": "op",
    "fromVersion": OLD,
    "targetVersion": NEW,
    "snapshot": "s",
    "snapshots": 1,
}
FAILURE = {"reason": "PodNotReady", "message": "x-2 is not back", "at": "2026-11-29T00:00:00Z"}
LOCK = {"operation": "Upgrade", "holder": UPGRADE_HOLDER}
RETRY = {"requests": {"retry": "one"}}
# name: (status.upgrade, status.release, the next target; "" if the upgrade ends)
STATES = {
    "Preparing": ({**UPGRADE, "phase": "Preparing"}, OLD, ""),
    "Snapshot": (UPGRADE, OLD, ""),
    "Rolling": ({**UPGRADE, "phase": "Rolling"}, NEW, NEW),
    "Failed, no pod is new": ({**UPGRADE, "failure": FAILURE}, OLD, NEW),
    "Failed, pods may be new": ({**UPGRADE, "phase": "Rolling", "failure": FAILURE}, NEW, NEW),
}


@pytest.mark.parametrize(("upgrade", "release", "target"), STATES.values(), ids=STATES)
def test_a_refused_release_is_not_a_target(
    upgrade: dict[str, object], release: str, target: str
) -> None:
    cluster = (
        gen.cluster(version=OLDER, upgrade=RETRY)
        .initialized()
        .with_status(
            upgrade=upgrade, release={"version": release}, currentVersion=OLD, operationLock=LOCK
        )
    )
    decision = decide_upgrade(cluster.read(), gen.running(cluster).facts(), DEADLINE)
    assert gen.present(decision.accepted).version == release
    assert (decision.upgrade.target_version if decision.upgrade else "") == target
