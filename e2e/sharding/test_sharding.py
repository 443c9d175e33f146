"""Two shards with a standby: each writes only for its clusters, also on failures and changes.

Three steps: both shards run; the first one is frozen, replaced and resumed; and one process without
shards replaces both.
"""

import signal

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.harness.audit import AuditLog, Entry, refusals, writes
from e2e.harness.clusters import Cluster
from e2e.harness.installation import NAMESPACE
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import VERSION
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Launcher
from e2e.harness.waiting import Stopwatch, until
from e2e.sharding.conftest import MakeIdentity
from runtime.builtin_kinds import CONFIG_MAP, LEASE
from runtime.leader.shard import group_identity, lease_of_shard, shard_of
from runtime.types import ObjectKey, uid_of

LEASE_NAME = "openbao-operator"
# The clusters get all of their objects, and no server: only writes of operators count here.
NO_IMAGE = f"localhost/no-such-image:{VERSION}"
TAKEOVER_WITHIN = 35.0
"""Seconds: the duration of a Lease, two retries of a candidate, and a slow machine."""
SILENCE = 20.0
"""Seconds between the last renewal of the shards and the first write of another process: at least
the duration of the Lease minus the renew deadline of the shards."""
CHANGED_WITHIN = 75.0
ENDS_WITHIN = 30.0
REPAIRED_WITHIN = 10.0


def two_of(namespace: str, shard: int) -> list[str]:
    """Return the names of two clusters that belong to this one of two shards."""
    numbered = (f"k{number:02}" for number in range(100))
    mine = (name for name in numbered if shard_of(ObjectKey(namespace, name), 2) == shard)
    return [next(mine), next(mine)]


def holder(api: Api, lease: str) -> str:
    """Return the holder of a Lease, "" if it has none."""
    live = api.find(LEASE, NAMESPACE, lease)
    return str(live["spec"].get("holderIdentity", "")) if live else ""


def await_leader(api: Api, shard: int) -> str:
    """Wait until a process leads a shard, and return its identity."""
    lease = lease_of_shard(LEASE_NAME, shard)
    until(f"{lease} is held", lambda: holder(api, lease), 60.0)
    return holder(api, lease)


def delete_and_await_repair(api: Api, namespace: str, cluster: str, seconds: float) -> None:
    """Delete a ConfigMap of a cluster, and wait until the operator recreates it."""
    name = names.config_map(cluster)
    lost = api.get(CONFIG_MAP, namespace, name)
    api.delete(CONFIG_MAP, namespace, name)

    def is_there() -> bool:
        config_map = api.find(CONFIG_MAP, namespace, name)
        return config_map is not None and uid_of(config_map) != uid_of(lost)

    until(f"{name} is repaired", is_there, seconds)


def assert_writes_about(entries: list[Entry], namespace: str, own: list[str]) -> None:
    """Fail unless all writes in a namespace are for these clusters; events are ignored."""
    assert writes(entries)
    others = [
        str(entry)
        for entry in writes(entries)
        if entry.namespace == namespace
        and entry.resource != "events"
        and not any(name in entry.name for name in own)
    ]
    assert not others
    assert not (denied := refusals(entries)), "\n".join(map(str, denied))


@pytest.mark.timeout(600)
def test_each_shard_writes_only_for_its_clusters(
    api: Api, audit: AuditLog, launcher: Launcher, make_identity: MakeIdentity, namespace: str
) -> None:
    users = {name: make_identity(name) for name in ("zero", "one", "spare", "alone")}
    first = launcher.start(users["zero"], "--shard", "0/2")
    second = launcher.start(users["one"], "--shard", "1/2")
    leader, _ = await_leader(api, 0), await_leader(api, 1)
    assert holder(api, LEASE_NAME) == group_identity(2)
    standby = launcher.start(users["spare"], "--shard", "0/2")

    begin = audit.mark()
    mine = {shard: two_of(namespace, shard) for shard in range(2)}
    for name in (*mine[0], *mine[1]):
        api.create(CLUSTERS, manifest(namespace, name, image=NO_IMAGE))
    for name in (*mine[0], *mine[1]):
        pods = Cluster(api, namespace, name).pods
        until(f"{name} has a pod", pods, 60.0)
    for user, own in (("zero", mine[0]), ("one", mine[1])):
        assert_writes_about(audit.since(begin, users[user].user), namespace, own)
    assert not writes(audit.since(begin, users["spare"].user))

    # The first shard is frozen: the second one is not affected, and the standby takes over.
    first.signal(signal.SIGSTOP)
    watch = Stopwatch()
    delete_and_await_repair(api, namespace, mine[1][0], REPAIRED_WITHIN)
    delete_and_await_repair(api, namespace, mine[0][0], TAKEOVER_WITHIN)
    print(f"\ntaken over and repaired {watch.seconds:.1f} s after the freeze")
    assert holder(api, lease_of_shard(LEASE_NAME, 0)) not in (leader, "")

    mark = audit.mark()
    first.faults_expected = True
    first.signal(signal.SIGCONT)
    assert first.wait(ENDS_WITHIN) != 0
    assert first.has_logged("stopped: the leader lease was lost"), first.tail()
    delete_and_await_repair(api, namespace, mine[0][1], REPAIRED_WITHIN)
    late = audit.since(mark, users["zero"].user)
    # The resumed process may still have renewed the Lease that all shards share.
    of_all = ("leases", LEASE_NAME)
    done = [e for e in late if e.writes and e.code < 400 and (e.resource, e.name) != of_all]
    assert not done, list(map(str, done))
    assert_writes_about(audit.since(begin, users["spare"].user), namespace, mine[0])
    assert_writes_about(audit.since(begin, users["one"].user), namespace, mine[1])

    # A process without shards waits until both have ended, by a signal or gracefully.
    alone = launcher.start(users["alone"])
    delete_and_await_repair(api, namespace, mine[0][0], REPAIRED_WITHIN)
    assert not writes(audit.since(begin, users["alone"].user))
    second.kill()
    standby.stop()
    watch = Stopwatch()
    alone.await_leading(CHANGED_WITHIN)
    print(f"one process leads {watch.seconds:.1f} s after both shards have ended")
    for name in (mine[0][0], mine[1][0]):
        delete_and_await_repair(api, namespace, name, REPAIRED_WITHIN)
    before = [e.at for user in ("one", "spare") for e in audit.since(begin, users[user].user)]
    after = [e.at for e in writes(audit.since(begin, users["alone"].user))]
    assert after
    assert max(before) < min(after)
    assert watch.seconds > SILENCE
    assert holder(api, LEASE_NAME) not in ("", group_identity(2))
