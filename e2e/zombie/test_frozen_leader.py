"""Two operators: the leader is frozen during a reconcile, and resumed after it lost the Lease."""

import signal

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.harness.audit import AuditLog, tally, writes
from e2e.harness.clusters import Cluster
from e2e.harness.installation import NAMESPACE, Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Launcher
from e2e.harness.waiting import Stopwatch, until
from runtime.builtin_kinds import CONFIG_MAP, LEASE
from runtime.types import uid_of

LEASE_NAME = "openbao-operator"
LEASE_SECONDS = 15.0
# A candidate reads the Lease every 2 to 4.4 seconds.
TAKEOVER_WITHIN = LEASE_SECONDS + 20.0
ENDS_WITHIN = 30.0
FREEZING = ("e2e.harness.freezing_operator", "run")


def holder(api: Api) -> str:
    """Return the holder of the Lease."""
    return str(api.get(LEASE, NAMESPACE, LEASE_NAME)["spec"]["holderIdentity"])


@pytest.mark.timeout(400)
def test_a_frozen_leader_never_writes_again(
    api: Api,
    audit: AuditLog,
    launcher: Launcher,
    controller: Identity,
    rival: Identity,
    namespace: str,
) -> None:
    leader = launcher.start(controller, module=FREEZING)
    leader.await_leading()
    standby = launcher.start(rival)
    first = Cluster(api, namespace, "first")
    others = [Cluster(api, namespace, name) for name in ("second", "third", "fourth")]
    api.create(CLUSTERS, manifest(namespace, first.name))
    first.await_available()
    before = holder(api)
    assert not standby.has_logged("became leader")

    # It is frozen during several first boots, with open requests and more to follow.
    mark = audit.mark()
    for cluster in others:
        api.create(CLUSTERS, manifest(namespace, cluster.name))
    until(
        "the leader writes",
        lambda: writes(audit.since(mark, controller.user)),
        5.0,
        every=0.002,
    )
    leader.freeze()
    watch = Stopwatch()
    lost = api.get(CONFIG_MAP, namespace, names.config_map(first.name))
    api.delete(CONFIG_MAP, namespace, names.config_map(first.name))

    until("the standby leads", lambda: standby.has_logged("became leader"), TAKEOVER_WITHIN)
    print(f"\ntaken over {watch.seconds:.1f} s after the freeze")
    assert holder(api) != before
    for cluster in others:
        cluster.await_available()
    repaired = api.get(CONFIG_MAP, namespace, names.config_map(first.name))
    assert uid_of(repaired) != uid_of(lost)

    mark, watch = audit.mark(), Stopwatch()
    leader.faults_expected = True
    leader.signal(signal.SIGCONT)
    assert leader.wait(ENDS_WITHIN) != 0
    print(f"the frozen operator exited {watch.seconds:.1f} s after it was resumed")
    assert leader.has_logged("stopped: the leader lease was lost"), leader.tail()

    # The successor continues; its write shows that the audit log is current.
    config = names.config_map(others[0].name)
    api.delete(CONFIG_MAP, namespace, config)
    until("the ConfigMap is recreated", lambda: api.find(CONFIG_MAP, namespace, config), 5.0)
    until("the write is in the audit log", lambda: writes(audit.since(mark, rival.user)), 5.0)
    late = audit.since(mark, controller.user)
    assert not writes(late), "\n".join(map(str, writes(late)))
    # It may have tried to renew its Lease, which must have failed.
    assert not [e for e in late if e.writes and e.code < 400], tally(late)
    assert standby.alive
    assert holder(api) != before
