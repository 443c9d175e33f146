"""Worlds with read replicas."""

from dataclasses import replace

from contracts.records.observed import Quorum, RaftServer
from managers.workload.objects.statefulset import template_digest
from managers.workload.plan import Inputs
from managers.workload.read_pool import ReadPlan, inputs_of, plan
from managers.workload.read_pool_spec import read_pool_settings
from runtime.outcome import Done
from tests import gen
from tests.managers.workload.plans import INPUTS, OLD

TWO = OLD.with_spec(readReplicas={"replicas": 2})
ONE = OLD.with_spec(readReplicas={"replicas": 1})
VOTERS = ("x-0", "x-1", "x-2")


def read_inputs(cluster: gen.Cluster = TWO) -> Inputs:
    """The inputs of the read pool of that cluster."""
    meant = gen.resolved(cluster)
    return inputs_of(gen.present(meant.read), INPUTS)


def digest(cluster: gen.Cluster = TWO) -> str:
    """The digest of the template of the read replicas."""
    meant = gen.resolved(cluster)
    assert meant.read is not None
    wishes = read_pool_settings(cluster.read(), meant.config, meant.pod)
    view = replace(meant, reads=True, pod=wishes.pod)
    return template_digest(view, read_inputs(cluster).restart)


def reader(ordinal: int, cluster: gen.Cluster = TWO) -> gen.Pod:
    """A ready read replica from the newest template."""
    files = read_inputs(cluster).files.digest
    return gen.read_pod(ordinal).with_template(digest(cluster)).with_files(files).ready()


def serving(
    count: int = 2, *, cluster: gen.Cluster = TWO, template: str = "", size: int | None = None
) -> gen.World:
    """Three voters, of which x-0 leads, and `count` ready ones of `size` read replicas."""
    newest = digest(cluster)
    files = read_inputs(cluster).files.digest
    pods = (reader(n, cluster).with_template(template or newest) for n in range(count))
    live = gen.read_set().with_replicas(count if size is None else size)
    live = live.with_template(newest).with_files(files)
    voters = (gen.pod(n).ready(leading=n == 0) for n in range(3))
    return (
        gen.world()
        .with_set(gen.stateful_set())
        .with_pods(*voters)
        .with_claims(0, 1, 2)
        .with_readers(live, *pods)
        .with_read_claims(*range(count))
        .with_client_config()
    )


def knowing(*readers: str, voting: tuple[str, ...] = (), ill: tuple[str, ...] = ()) -> Quorum:
    """The quorum of the leader: three voters, and these read replicas."""
    everyone = (*VOTERS, *readers)
    return Quorum(
        tuple(
            RaftServer(name, voter=name in (*VOTERS, *voting), healthy=name not in ill)
            for name in everyone
        ),
        failure_tolerance=1,
    )


def plan_read_pool(cluster: gen.Cluster, world: gen.World, *, held: bool = False) -> ReadPlan:
    """Plan the pool."""
    inputs = replace(INPUTS, hold_read_replicas=held)
    return plan(gen.resolved(cluster, world), world.facts(), inputs)


def effect_names(plan: ReadPlan) -> list[tuple[str, str]]:
    """The effects by name and target."""
    return [(effect.name, effect.target) for effect in plan.plan.effects]


def reason_of(plan: ReadPlan) -> str:
    """The reason of the outcome; "" for Done."""
    outcome = plan.plan.outcome
    return "" if isinstance(outcome, Done) else outcome.reason
