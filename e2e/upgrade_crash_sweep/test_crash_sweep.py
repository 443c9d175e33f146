"""Crashes at all writes of an upgrade of one server, and at a sample of those of three.

A status may be written once more or less than in the clean run; the kinds of writes are the same.
"""

import pytest

from e2e.conftest import MakeNamespace, sweep
from e2e.harness.audit import AuditLog, refused
from e2e.harness.crash_points import Moment, batches, ends, never_reached, numbered
from e2e.harness.installation import Identity
from e2e.harness.manifests import STEADFAST
from e2e.rig.versions import OPENBAO_UPGRADES
from e2e.upgrade_crash_sweep.sweep import Case, Sweep

NAME = "one"
VERSIONS = OPENBAO_UPGRADES[1:]
# As many as two cores bear side by side, beside other scenarios.
BATCH, BIG_BATCH = 12, 3
SECONDS = 300.0


@pytest.mark.timeout(900)
def test_every_write_of_the_upgrade_of_one_server(
    campaign: Sweep,
    make_namespace: MakeNamespace,
    audit: AuditLog,
    controller: Identity,
) -> None:
    """The same clusters go from version to version, each time with other crashes."""
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
    # The three servers of the next test shall not wait for their turn behind these.
    for one in clusters:
        sweep(campaign.api, one.namespace)
    assert not (missed := never_reached(cases)), missed
    assert not (no := refused(audit.since(mark, controller.user))), "\n".join(map(str, no))


@pytest.mark.timeout(1500)
def test_a_sample_of_the_upgrade_of_three_servers(
    campaign: Sweep, make_namespace: MakeNamespace
) -> None:
    """The pods, the Job that asks the leader, and what is written down between them."""
    size: dict[str, object] = {"replicas": 3, "configuration": STEADFAST}
    (first,) = campaign.bring_up(make_namespace, 1, NAME, **size)
    clean = numbered(campaign.writes_of(first, VERSIONS[0]))
    sweep(campaign.api, first.namespace)
    print("\n" + "\n".join(f"  {key} #{number}" for key, number in clean))
    pods = [one for one in clean if one[0].subresource == "eviction"]
    (job,) = (one for one in clean if one[0].verb == "create" and one[0].resource == "jobs")
    assert len(pods) == 3
    moments: list[Moment] = [
        (pods[0][0], 1, "after"),
        (pods[1][0], 1, "at"),
        (pods[2][0], 1, "before"),
        (pods[2][0], 1, "after"),
        (job[0], 1, "before"),
        (job[0], 1, "after"),
    ]
    cases: list[Case] = []
    for batch in batches(moments, BIG_BATCH):
        clusters = campaign.bring_up(make_namespace, len(batch), NAME, **size)
        made = [Case(one, *moment) for one, moment in zip(clusters, batch, strict=True)]
        campaign.run(made, VERSIONS[0], SECONDS)
        cases += made
        for one in clusters:
            sweep(campaign.api, one.namespace)
    assert not (wrong := [str(case) for case in cases if case.faults]), "\n".join(wrong)
    # Names of Jobs and who leads differ from run to run; what did not come was no crash.
    assert sum(bool(case.result and case.result.crashed) for case in cases) >= 3
