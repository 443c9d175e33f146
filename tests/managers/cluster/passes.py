"""Results of the workload reconciler as inputs of a status: chosen and arbitrary ones."""

from dataclasses import replace
from typing import Any, NamedTuple

from hypothesis import strategies as st

from contracts.api.cluster.status import ClusterStatus
from contracts.conditions.catalog import TYPES
from contracts.conditions.condition import Condition
from managers.cluster.resolve.resolve import resolve
from managers.cluster.status.cluster_status import ReconcileResult, compute
from runtime.outcome import Blocked, Done, Outcome, Wait
from tests import gen

FINE = gen.running(gen.cluster().initialized())
SUMMARY = next(kind.reasons for kind in TYPES if kind.name == "Stalled")
OUTCOMES = st.one_of(
    st.just(Done()),
    st.builds(Wait, st.sampled_from(SUMMARY), st.text(max_size=20)),
    st.builds(Blocked, st.sampled_from(SUMMARY), st.text(max_size=20)),
)


class Row(NamedTuple):
    """The expected conditions after a reconcile, such as "Ready=False NotReady"."""

    cluster: gen.Cluster
    world: gen.World
    expected: tuple[str, ...]
    outcome: Outcome


def row(
    cluster: gen.Cluster, world: gen.World, *expected: str, after: Outcome | None = None
) -> Row:
    """The expected conditions after a reconcile with that outcome."""
    return Row(cluster, world, expected, after or Done())


def a_pass(
    cluster: gen.Cluster, world: gen.World | None = None, outcome: Outcome | None = None
) -> ReconcileResult:
    """A reconcile with that outcome; a refusal of the resolve step takes precedence."""
    read, observed = cluster.read(), (world or gen.running(cluster)).facts()
    if read.spec.paused:
        return ReconcileResult(read, observed, Done())
    resolved = resolve(read, cluster.owner(), observed, gen.INSTALLATION)
    if isinstance(resolved, Blocked):
        return ReconcileResult(read, observed, resolved)
    return ReconcileResult(read, observed, outcome or Done(), resolved)


def status_of(
    cluster: gen.Cluster, world: gen.World | None = None, outcome: Outcome | None = None
) -> ClusterStatus:
    """The status after such a reconcile."""
    return compute(a_pass(cluster, world, outcome))


def condition_of(status: ClusterStatus, kind: str) -> Condition:
    """The one condition of a type."""
    (match_,) = [condition for condition in status.conditions if condition.type == kind]
    return match_


def status_and_reason(status: ClusterStatus, kind: str) -> tuple[str, str]:
    """Status and reason of a condition."""
    condition = condition_of(status, kind)
    return condition.status, condition.reason


def carry_over(cluster: gen.Cluster, status: ClusterStatus) -> gen.Cluster:
    """The cluster after that status was written, with the part of adminops."""
    written = {name: part for name, part in status.to_object().items() if name != "adminOps"}
    if "adminOps" in cluster.status:
        written["adminOps"] = cluster.status["adminOps"]
    return replace(cluster, status=written)


@st.composite
def pods(draw: st.DrawFn, ordinal: int) -> gen.Pod:
    """A pod in any state."""
    pod = gen.pod(ordinal).with_template(draw(st.sampled_from(["now", "before", ""])))
    if draw(st.booleans()):
        pod = pod.ready(
            leading=draw(st.booleans()), version=draw(st.sampled_from(["2.4.0", "2.4.1", ""]))
        )
    if draw(st.booleans()):
        pod = pod.with_server_labels(sealed=draw(st.sampled_from(["true", "false", "perhaps"])))
    if draw(st.booleans()):
        pod = pod.with_restarts(draw(st.integers(1, 3)))
    if draw(st.booleans()):
        pod = pod.waiting("CrashLoopBackOff")
    return pod.terminating() if draw(st.booleans()) else pod


@st.composite
def worlds(draw: st.DrawFn) -> gen.World:
    """Any pods, any StatefulSet, any Secrets."""
    ordinals = draw(st.sets(st.integers(0, 4), max_size=4))
    secrets = [secret.name for secret in FINE.secrets]
    kept = draw(st.sets(st.sampled_from(secrets)))
    stateful_set = draw(
        st.sampled_from([None, gen.stateful_set(), gen.stateful_set().first_boot()])
    )
    return (
        FINE.without_secrets(*(name for name in secrets if name not in kept))
        .with_set(stateful_set)
        .with_pods(*(draw(pods(ordinal)) for ordinal in sorted(ordinals)))
    )


_RAFT = st.fixed_dictionaries(
    {
        "voters": st.integers(0, 5),
        "nonVoters": st.integers(0, 2),
        "leader": st.just("x-0"),
        "clusterID": st.just("id"),
    }
)
_TROUBLE = st.fixed_dictionaries(
    {
        "reason": st.sampled_from(["SplitBrain", "MembershipUnknown", "AnswerUnusable"]),
        "message": st.just("told by adminops"),
    }
)


@st.composite
def clusters(draw: st.DrawFn) -> gen.Cluster:
    """Any spec of a few fields, any status of an earlier reconcile."""
    spec: dict[str, Any] = {"replicas": draw(st.sampled_from([1, 3, 5]))}
    spec["paused"] = draw(st.booleans())
    spec["profile"] = draw(st.sampled_from([None, "Development"]))
    spec["readReplicas"] = draw(st.sampled_from([None, {"replicas": 1}]))
    cluster = gen.cluster(**spec)
    if draw(st.booleans()):
        cluster = cluster.self_init()
    if draw(st.booleans()):
        cluster = cluster.initialized(draw(st.sampled_from(["2.3.9", "2.4.0", "2.5.0"])))
    optional = {"raft": _RAFT, "lastError": _TROUBLE}
    return cluster.with_status(adminOps=draw(st.fixed_dictionaries({}, optional=optional)))
