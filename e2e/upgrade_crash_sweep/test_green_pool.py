"""Crashes at some writes of a blue/green upgrade of one server."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from contracts.naming import labels, names
from contracts.records.bluegreen import ACTIONS, DEMOTING, PROMOTING
from e2e.conftest import MakeNamespace, sweep
from e2e.demo.objects import name_of
from e2e.harness.audit import AuditLog, Entry, refused
from e2e.harness.bao import AUDIENCE, BaoError
from e2e.harness.clusters import Cluster
from e2e.harness.crash_points import Moment, batches, never_reached, numbered
from e2e.harness.crashing_operator import Position
from e2e.harness.installation import Identity
from e2e.harness.manifests import CLIENT, SECRETS
from e2e.harness.takeover import claims_of, members, serving, stateful_sets, with_blue_green
from e2e.harness.two_pools import blue_green
from e2e.harness.waiting import until
from e2e.harness.write_key import WriteKey
from e2e.harness.writing import may_write
from e2e.rig.versions import OPENBAO_UPGRADES
from e2e.upgrade_crash_sweep.sweep import Case, Sweep, unfinished
from runtime.builtin_kinds import PVC, SERVICE

NAME = "two"
VERSION = OPENBAO_UPGRADES[1]
# Each upgrade starts a second server: with other scenarios, more of them would time out.
BATCH = 3
# Names of Jobs are truncated.
SHORT = 20
# A Job that fails because the node is busy is recreated after its deadline; until then there are no
# writes.
SECONDS = 480.0
JOB_SECONDS = 150
KEPT = f"{SECRETS}/kept"


class Row(NamedTuple):
    """A write, by a part of its name or of its field manager, and the position of the crash."""

    verb: str
    resource: str
    word: str
    occurrence: int
    at: Position


CRASHES = (
    # The lock is free, and the status does not yet report the end of the upgrade.
    Row("patch", "openbaoclusters", "lock", 2, "after"),
    Row("delete", "statefulsets", NAME, 1, "before"),
    Row("create", "jobs", ACTIONS[DEMOTING][:SHORT], 1, "after"),
    # The first patch restricts the Service to blue, and this one switches clients to green.
    Row("patch", "services", "public", 2, "before"),
    Row("create", "jobs", ACTIONS[PROMOTING][:SHORT], 1, "at"),
    Row("patch", "statefulsets", NAME, 1, "after"),
)


@pytest.mark.timeout(1800)
def test_the_next_operator_completes_it_and_one_pool_is_left(
    campaign: Sweep,
    make_namespace: MakeNamespace,
    audit: AuditLog,
    controller: Identity,
) -> None:
    mark = audit.mark()
    upgrade = with_blue_green(autoRollback={"stabilizationSeconds": 0})
    (first,) = campaign.bring_up(make_namespace, 1, NAME, upgrade=upgrade)
    clean = numbered(campaign.writes_of(first, VERSION))
    print("\n" + "\n".join(f"  {key} #{number}" for key, number in clean))
    sweep(campaign.api, first.namespace)
    cases: list[Case] = []
    for batch in batches(moments(clean), BATCH):
        clusters = campaign.bring_up(make_namespace, len(batch), NAME, upgrade=upgrade)
        for one in clusters:
            may_write(one)
            keep(one, "before")
        made = [
            Case(one, *moment, JOB_SECONDS) for one, moment in zip(clusters, batch, strict=True)
        ]
        campaign.run(made, VERSION, SECONDS, faults)
        cases += made
        for one in clusters:
            sweep(campaign.api, one.namespace)
    assert not (wrong := [str(case) for case in cases if case.faults]), "\n".join(wrong)
    assert not (missed := never_reached(cases)), missed
    assert not (no := refused(audit.since(mark, controller.user))), "\n".join(map(str, no))


def moments(clean: Sequence[tuple[WriteKey, int]]) -> list[Moment]:
    """Find the writes of CRASHES in a clean run, the late ones first."""
    return [
        (*next(one for one in clean if _is_it(one[0], row) and one[1] == row.occurrence), row.at)
        for row in CRASHES
    ]


def _is_it(key: WriteKey, wanted: Row) -> bool:
    named = f"{key.name} {key.manager}"
    return (key.verb, key.resource) == (wanted.verb, wanted.resource) and wanted.word in named


def faults(case: Case, entries: Sequence[Entry], version: str) -> list[str]:
    """Return the faults of a cluster whose upgrade another operator completed."""
    cluster, found = case.cluster, unfinished(case, entries, version)
    status, servers = blue_green(cluster.live()), serving(cluster)
    if status.get("phase", "Idle") != "Idle" or status.get("greenRevision"):
        found.append(f"the upgrade is in progress: {status}")
    if stateful_sets(cluster) != {servers.stateful_set}:
        found.append(f"StatefulSets: {stateful_sets(cluster)}")
    if [name_of(pod) for pod in cluster.pods()] != [servers.pod(0)]:
        found.append(f"pods: {[name_of(pod) for pod in cluster.pods()]}")
    if members(cluster) != {servers.pod(0): True}:
        found.append(f"members: {members(cluster)}")
    volumes = {name_of(one) for one in cluster.api.list(PVC, cluster.namespace)}
    if volumes != claims_of(cluster, servers):
        found.append(f"volumes: {volumes}")
    if reaches(cluster) != {servers.revision}:
        found.append(f"the Service selects the revisions {reaches(cluster)}")
    if not is_kept(cluster, "before"):
        found.append("an acknowledged write is lost")
    return found


def reaches(cluster: Cluster) -> set[str]:
    """Return the revisions of the servers that the public Service selects."""
    public = cluster.api.get(SERVICE, cluster.namespace, names.public_service(cluster.name))
    chosen = public["spec"]["selector"].items()
    marks = [pod["metadata"]["labels"] for pod in cluster.pods()]
    return {one.get(labels.REVISION, "") for one in marks if chosen <= one.items()}


def keep(cluster: Cluster, word: str) -> None:
    """Write a secret that must survive the replacement of the servers."""
    server, token = connect(cluster)
    cluster.server(server).post(KEPT, token, {"value": word})


def is_kept(cluster: Cluster, word: str) -> bool:
    """Whether that secret can be read."""
    server, token = connect(cluster)
    try:
        return bool(cluster.server(server).get(KEPT, token)["data"] == {"value": word})
    except BaoError:
        return False


def connect(cluster: Cluster) -> tuple[str, str]:
    """Return the pod of the leader, and a client token for it."""
    leader = name_of(until("a server leads", cluster.leader, 30.0))
    jwt = cluster.api.token(cluster.namespace, CLIENT, AUDIENCE)
    return leader, cluster.server(leader).login(CLIENT, jwt)
