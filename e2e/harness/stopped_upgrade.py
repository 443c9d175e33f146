"""Checks of a stopped upgrade: the status, and that no pod is changed."""

from e2e.demo.objects import status_of
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Object
from e2e.harness.upgrades import Requests
from e2e.harness.waiting import throughout, until

POD_DEADLINE = 30.0
"""Seconds that the fixture `short_deadline_operator` gives one server to come back."""
STILL_SECONDS = 5.0
TROUBLE_SECONDS = 120.0


def await_stopped(cluster: Cluster, reason: str, seconds: float = TROUBLE_SECONDS) -> Object:
    """Wait until an upgrade has failed for a reason, and the lock is free; return its status."""
    cluster.await_condition("Upgrading", "False", reason, seconds=seconds)
    condition = cluster.await_condition("Degraded", "True", seconds=10.0)
    until("the failure is in the status", lambda: upgrade_of(cluster).get("failure"), 10.0)
    upgrade = upgrade_of(cluster)
    assert upgrade["failure"]["reason"] == reason
    assert upgrade["failure"]["message"]
    until("the lock is free", lambda: "operationLock" not in status_of(cluster.live()), 10.0)
    print(f"\n  {reason}: {upgrade['failure']['message']}\n  Degraded {condition['reason']}")
    return upgrade


def assert_no_pod_changes(
    cluster: Cluster, requests: Requests, seconds: float = STILL_SECONDS
) -> None:
    """Check for some time that the pods stay the same, and that only the status is written.

    The status is updated whenever the kubelet retries to pull an image.
    """
    pods = cluster.pod_uids()
    requests.await_silence()
    mark = requests.mark()
    throughout("no pod changes", lambda: cluster.pod_uids() == pods, seconds)
    sent = [entry for entry in requests.writes_since(mark) if entry.subresource != "status"]
    assert not sent, "\n".join(map(str, sent))


def upgrade_of(cluster: Cluster) -> Object:
    """Return status.upgrade; empty if there is none."""
    upgrade: Object = status_of(cluster.live()).get("upgrade") or {}
    return upgrade
