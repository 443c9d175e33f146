"""Crashes at all writes of an upgrade of one server, and at some writes of one of three servers.

The number of status writes may differ from that of the clean run; the kinds of writes are the same.
"""

from dataclasses import replace

import pytest

from e2e.conftest import MakeNamespace, sweep
from e2e.demo.objects import name_of
from e2e.harness.audit import AuditLog, refused
from e2e.harness.clusters import Cluster
from e2e.harness.crash_points import batches, ends, never_reached, numbered
from e2e.harness.crashing_operator import Position
from e2e.harness.installation import Identity
from e2e.harness.manifests import STEADFAST
from e2e.harness.waiting import until
from e2e.rig.versions import OPENBAO_UPGRADES
from e2e.upgrade_crash_sweep.sweep import Case, Sweep

NAME = "one"
VERSIONS = OPENBAO_UPGRADES[1:]
# As many clusters as two cores can run together with other scenarios.
BATCH, BIG_BATCH = 12, 3
SECONDS = 300.0
# The crashes of the upgrade of three servers: at the eviction of this index, or at the Job (None).
SAMPLE: tuple[tuple[tuple[int | None, Position], ...], ...] = (
    ((0, "after"), (1, "at"), (2, "before")),
    ((2, "after"), (None, "before"), (None, "after")),
)


@pytest.mark.timeout(900)
def test_every_write_of_the_upgrade_of_one_server(
    campaign: Sweep,
    make_namespace: MakeNamespace,
    audit: AuditLog,
    controller: Identity,
) -> None:
    """The same clusters are upgraded version by version, with different crashes each time."""
    mark = audit.mark()
    first, *clusters = campaign.bring_up(make_namespace, BATCH + 1, NAME)
    clean = numbered(campaign.writes_of(first, VERSIONS[0]))
    print("\n" + "\n".join(f"  {key} #{number}" for key, number in clean))
    sweep(campaign.api, first.namespace)
    moments = ends(clean)
    parts = batches(moments, BATCH)
    assert len(parts) <= len(VERSIONS), f"{len(moments)} moments for {BATCH} clusters"
    cases: list[Case] = []
    for version, batch in zip(VERSIONS, parts, strict=False):
        made = [Case(one, *moment) for one, moment in zip(clusters, batch, strict=False)]
        cases += made
        campaign.run(made, version, SECONDS)
        assert not (wrong := [str(case) for case in made if case.faults]), "\n".join(wrong)
    # The next test must not wait for these clusters.
    for one in clusters:
        sweep(campaign.api, one.namespace)
    assert not (missed := never_reached(cases)), missed
    assert not (no := refused(audit.since(mark, controller.user))), "\n".join(map(str, no))


@pytest.mark.timeout(1500)
def test_a_sample_of_the_upgrade_of_three_servers(
    campaign: Sweep, make_namespace: MakeNamespace
) -> None:
    """Crashes at evictions, and at the step-down Job of the leader."""
    size: dict[str, object] = {"replicas": 3, "configuration": STEADFAST}
    clusters = campaign.bring_up(make_namespace, BIG_BATCH, NAME, **size)
    clean = campaign.writes_of(clusters[0], VERSIONS[0])
    print("\n" + "\n".join(f"  {key}" for key in clean))
    evictions = [key for key in clean if key.subresource == "eviction"]
    (job,) = (key for key in clean if key.verb == "create" and key.resource == "jobs")
    assert len(evictions) == size["replicas"]
    cases: list[Case] = []
    for version, batch in zip(VERSIONS[1:], SAMPLE, strict=True):
        made = []
        for cluster, (turn, position) in zip(clusters, batch, strict=True):
            key = job if turn is None else replace(evictions[0], name=turns(cluster)[turn])
            made.append(Case(cluster, key, 1, position))
        campaign.run(made, version, SECONDS)
        cases += made
    assert not (wrong := [str(case) for case in cases if case.faults]), "\n".join(wrong)
    # The names of Jobs and the leader differ between runs, so some crashes may not be reached.
    assert sum(bool(case.result and case.result.crashed) for case in cases) >= 3


def turns(cluster: Cluster) -> list[str]:
    """Return the pods in the order in which a rolling upgrade evicts them: the leader last."""
    leader = name_of(until("a server leads", cluster.leader, 30.0))
    standbys = {name_of(pod) for pod in cluster.pods()} - {leader}
    return [*sorted(standbys, reverse=True), leader]
