"""spec.upgrade.preUpgradeSnapshot: no server is replaced before the snapshot is stored."""

import pytest

from e2e.conftest import MakeNamespace
from e2e.demo.objects import Object, status_of
from e2e.harness.backups import check_stored, make_backup_cluster
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api
from e2e.harness.operator import Operator
from e2e.harness.stores import Store
from e2e.harness.upgrade_history import BACKUPS, CLUSTERS, History
from e2e.harness.upgrades import Requests, change, record_events
from e2e.rig import Rig
from e2e.rig.versions import OPENBAO_UPGRADES

FIRST = OPENBAO_UPGRADES[1]
UPGRADE_SECONDS = 240.0


@pytest.fixture(scope="module")
def cluster(
    rig: Rig,
    api: Api,
    make_namespace: MakeNamespace,
    reloading_operator: Operator,
    store: Store,
) -> Cluster:
    """One server with a backup target."""
    rig.load_openbao(OPENBAO_UPGRADES)
    upgrade = {"preUpgradeSnapshot": True}
    return make_backup_cluster(
        api, make_namespace(), store.target(), store, upgrade=upgrade, version=OPENBAO_UPGRADES[0]
    )


@pytest.mark.timeout(400)
def test_no_server_is_replaced_before_the_snapshot_is_stored(
    cluster: Cluster, store: Store, requests: Requests
) -> None:
    requests.settle(cluster)
    with record_events(cluster) as record:
        change(cluster, {"version": FIRST})
        seconds = record.await_finished(FIRST, UPGRADE_SECONDS)
        history = record.history
    kept = history.first(BACKUPS, lambda obj: is_before(obj) and phase(obj) == "Completed")
    # In the status: an upgrade starts when the operator accepts the version of the spec.
    rolling = history.first(CLUSTERS, lambda obj: release_version(obj) == FIRST)
    touched = history.first_touch()
    assert kept is not None
    assert rolling is not None
    assert touched is not None
    assert kept < rolling < touched
    print(f"\n  {seconds:.1f} s; stored {touched - kept:.1f} s before the first replacement")
    (backup,) = backups_in(history)
    assert is_before(backup)
    check_stored(store, status_of(backup))


def is_before(backup: Object) -> bool:
    """Whether a backup was created by an upgrade."""
    return bool(backup["spec"].get("origin") == "PreUpgrade")


def phase(backup: Object) -> str:
    """Return the phase of a backup."""
    return str(status_of(backup).get("phase") or "")


def release_version(cluster: Object) -> str:
    """Return the version in status.release."""
    return str((status_of(cluster).get("release") or {}).get("version") or "")


def backups_in(history: History) -> list[Object]:
    """Return all recorded OpenBaoBackups, as last observed."""
    objects = {s.object["metadata"]["name"]: s.object for s in history.entries if s.kind == BACKUPS}
    return list(objects.values())
