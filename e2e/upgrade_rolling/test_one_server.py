"""One server: the upgrade is an announced outage, without step-down."""

import pytest

from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.demo.objects import Object, condition
from e2e.harness.budgets import budget
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api
from e2e.harness.operator import Operator
from e2e.harness.service_writer import steady_voters
from e2e.harness.upgrade_history import CLUSTERS
from e2e.harness.upgrades import Requests, upgrade_under_load
from e2e.rig import Rig
from e2e.rig.images import openbao_reference
from e2e.rig.versions import OPENBAO_UPGRADES
from runtime.builtin_kinds import JOB

NAME = "single"
VERSION = OPENBAO_UPGRADES[1]
FINISHED_SECONDS = 40.0
ANNOUNCED = "nothing can be read or written"


@pytest.fixture(scope="module")
def cluster(
    rig: Rig, api: Api, make_namespace: MakeNamespace, reloading_operator: Operator
) -> Cluster:
    """One server of the first version, with a client that may write."""
    rig.load_openbao(OPENBAO_UPGRADES)
    return steady_voters(api, make_namespace(), NAME, version=OPENBAO_UPGRADES[0], replicas=1)


@pytest.mark.timeout(300)
def test_the_outage_is_announced_and_no_write_is_lost(cluster: Cluster, requests: Requests) -> None:
    done = upgrade_under_load(cluster, requests, VERSION, "one server")
    history = done.history
    old, new = history.lives()
    assert (old.name, new.name) == (names.pod(NAME, 0), names.pod(NAME, 0))
    assert new.image == openbao_reference(VERSION)
    assert new.terminating_at is None
    assert history.step_downs() == []
    assert cluster.api.list(JOB, cluster.namespace) == []
    done.assert_nothing_lost()
    budget("upgrade of one server", done.figures.seconds, FINISHED_SECONDS, "s")
    announced = history.first(CLUSTERS, announces)
    touched = history.first_touch()
    assert announced is not None
    assert touched is not None
    assert announced < touched


def announces(cluster: Object) -> bool:
    """Whether a cluster announces the outage."""
    upgrading = condition(cluster, "Upgrading")
    return (
        upgrading is not None
        and upgrading["status"] == "True"
        and ANNOUNCED in upgrading["message"]
    )
