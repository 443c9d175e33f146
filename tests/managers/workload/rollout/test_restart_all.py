"""After a restore all pods that are older than it are replaced at once."""

import pytest

from contracts.records.desired import Plan
from contracts.records.effects import ReplacePod
from managers.workload.plan import Inputs
from managers.workload.rollout.restart_all import MESSAGE
from runtime.outcome import Wait
from tests import gen
from tests.managers.workload import read_worlds
from tests.managers.workload.plans import FILES, digest, plan_workload
from tests.managers.workload.plans import OLD as PLAIN

RESTORED = PLAIN.with_status(restore={"name": "monday", "uid": "restore-1"})
SETTLED = PLAIN.with_status(
    restore={"name": "monday", "uid": "restore-1", "restartCompletedAt": "2030-01-01T00:00:00Z"}
)
LOCKED = RESTORED.with_status(
    operationLock={"operation": "Restore", "holder": "openbaorestore/monday"}
)
ANOTHER = RESTORED.with_status(
    operationLock={"operation": "Restore", "holder": "openbaorestore/tuesday"}
)
LATER = RESTORED.with_status(restore={"name": "tuesday", "uid": "restore-2"})
LATE = Inputs("the restart text", FILES, "the-operator", hold="the read replicas go first")


def old(ordinal: int) -> gen.Pod:
    """A pod from the template before the restore."""
    pod = gen.pod(ordinal).with_template(digest(PLAIN)).with_files(FILES.digest)
    return pod.ready(leading=ordinal == 0)


def new(ordinal: int, uid: str = "restore-1") -> gen.Pod:
    """A pod from the template after the restore."""
    pod = gen.pod(ordinal).with_template(digest(RESTORED)).with_files(FILES.digest)
    return pod.since_restore(uid)


def world(*pods: gen.Pod, cluster: gen.Cluster = RESTORED) -> gen.World:
    live = (
        gen.stateful_set().with_replicas(3).with_template(digest(cluster)).with_files(FILES.digest)
    )
    return gen.world().with_set(live).with_pods(*pods)


def deleted_pods(plan: Plan) -> list[str]:
    assert all(effect.name == ReplacePod.name for effect in plan.effects), plan.effects
    return [effect.target for effect in plan.effects]


ALL = world(old(0), old(1), old(2))


def test_all_pods_are_replaced_at_once_by_uid() -> None:
    plan = plan_workload(RESTORED, ALL)
    assert plan.effects == tuple(ReplacePod(f"x-{n}", f"uid-x-{n}") for n in range(3))
    assert plan.outcome == Wait("RollingOut", f"3 of 3 pods run an older template; {MESSAGE}")
    # The voters do not wait for the read replicas.
    assert plan_workload(RESTORED, ALL, LATE).effects == plan.effects


EACH = ["x-0", "x-1", "x-2"]
SERVED = (new(0).ready(leading=True), new(1).ready(), new(2).ready())
ANEW = SETTLED.with_spec(runtime={"restartAt": "now"})
# sentence: (cluster, world, the pods that are replaced)
ROWS: dict[str, tuple[gen.Cluster, gen.World, list[str]]] = {
    "the lock of this restore does not block": (LOCKED, ALL, EACH),
    "the lock of another restore blocks": (ANOTHER, ALL, []),
    # The new pod cannot reach the others, so it is unready.
    "after a crash the others are replaced": (
        RESTORED,
        world(old(0), old(1), new(2).unready()),
        ["x-0", "x-1"],
    ),
    "a missing pod is not waited for": (RESTORED, world(old(0), old(1)), ["x-0", "x-1"]),
    "a terminating pod is not waited for": (
        RESTORED,
        world(old(0), old(1), old(2).terminating()),
        ["x-0", "x-1"],
    ),
    "unready pods are replaced too": (
        RESTORED,
        world(old(0).unready(), old(1).unready(), old(2)),
        EACH,
    ),
    "new pods are not replaced": (RESTORED, world(new(0).unready(), new(1), new(2)), []),
    "new and ready pods are not replaced": (SETTLED, world(*SERVED), []),
    "no pod is replaced before the template is applied": (
        RESTORED,
        world(old(0), old(1), old(2), cluster=PLAIN),
        [],
    ),
    "no pod is replaced before the controller has observed the template": (
        RESTORED,
        ALL.with_set(gen.present(ALL.stateful_set).with_stale_status()),
        [],
    ),
    "the next restart": (LATER, world(new(0), new(1), new(2), cluster=LATER), EACH),
    "a later rollout replaces one pod at a time": (ANEW, world(*SERVED, cluster=ANEW), ["x-2"]),
}


@pytest.mark.parametrize(("cluster", "world", "names"), ROWS.values(), ids=ROWS)
def test_row(cluster: gen.Cluster, world: gen.World, names: list[str]) -> None:
    assert deleted_pods(plan_workload(cluster, world)) == names


def test_in_maintenance_no_pod_is_replaced() -> None:
    resting = RESTORED.with_spec(maintenance={"enabled": True})
    held = world(old(0), old(1), old(2), cluster=resting)
    plan = plan_workload(resting, held)
    assert ReplacePod.name not in [effect.name for effect in plan.effects]


def test_read_replicas_are_replaced_at_once_too() -> None:
    two = read_worlds.TWO.with_status(restore={"name": "monday", "uid": "restore-1"})
    newest = read_worlds.digest(two)
    before = read_worlds.serving(cluster=two, template="old")
    plan = read_worlds.plan_read_pool(two, before)
    assert deleted_pods(plan.plan) == ["x-read-0", "x-read-1"]
    half = before.with_readers(
        before.read_set,
        read_worlds.reader(0, two).with_template("old"),
        read_worlds.reader(1, two).with_template(newest).since_restore("restore-1").unready(),
    )
    assert deleted_pods(read_worlds.plan_read_pool(two, half).plan) == ["x-read-0"]
