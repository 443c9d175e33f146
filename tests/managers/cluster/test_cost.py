"""The cost of a reconcile without a change, in calls: a clock would measure other processes."""

from dataclasses import replace

from contracts.api.group import CLUSTERS
from contracts.hcl.render import render_self_init
from managers.cluster.plan.steps import merge_plans
from runtime.memo import Memos
from tests import gen
from tests.gen.calls import CallCount
from tests.gen.worlds import running
from tests.managers.cluster.bench import KEY, Bench

# Calls of Python and C functions that a reconcile may take. 8,600 of them took 0.9 ms on an idle
# machine when this was written; now there are 3,140, about 80 for each object of the cluster.
BUDGET = 3150


async def test_t24_a_reconcile_without_a_change_is_cheap_and_sends_nothing(bench: Bench) -> None:
    await bench.until_quiet()
    # From now on the caches have the same objects, as those of a quiet cluster.
    await bench.reconcile(KEY)
    bench.api.calls.clear()
    with CallCount() as count:
        await bench.reconcile(KEY)
    assert bench.api.take_requests() == []
    assert 500 < count.calls < BUDGET


def test_a_changed_status_resolves_to_the_same_object() -> None:
    cluster = gen.cluster().initialized()
    before = gen.resolved(cluster)
    assert gen.resolved(cluster.with_status(phase="Failed")) is before
    more = gen.resolved(cluster.with_spec(replicas=5))
    assert (more.replicas, before.replicas) == (5, 3)
    assert gen.resolved(cluster) == before


def test_a_changed_spec_with_equal_values_is_resolved_again() -> None:
    def requested(value: object, generation: int) -> gen.Cluster:
        request = {"name": "a", "operation": "update", "path": "b", "data": {"c": value}}
        cluster = gen.cluster(selfInit={"enabled": True, "requests": [request]})
        return cluster.with_metadata(generation=generation)

    texts = [
        render_self_init(gen.resolved(requested(value, generation)).config)
        for generation, value in enumerate((1, True))
    ]
    assert texts[0] != texts[1]


async def test_a_reconcile_after_a_change_of_the_status_builds_no_object_again(
    bench: Bench,
) -> None:
    await bench.until_quiet()
    memos = Memos()

    async def count_calls(version: int) -> int:
        (live,) = bench.api.of(CLUSTERS)
        metadata = {**live["metadata"], "resourceVersion": str(version)}
        bench.clusters.says({**live, "metadata": metadata, "status": {**live["status"]}})
        with memos.during(KEY), CallCount() as count:
            await bench.reconcile(KEY)
        return count.calls

    everything = await count_calls(10_001)
    # A quiet reconcile in between keeps the results.
    with memos.during(KEY):
        await bench.reconcile(KEY)
    assert await count_calls(10_002) < everything * 2 / 3


def test_objects_of_equal_facts_are_built_once() -> None:
    cluster = gen.cluster().initialized()
    facts = running(cluster)
    meant = gen.resolved(cluster, facts)
    plans, other = merge_plans(meant, facts.facts()), merge_plans(meant, facts.facts())
    assert all(mine is yours for mine, yours in zip(plans.intents, other.intents, strict=True))


def test_objects_are_rebuilt_when_a_fact_changes() -> None:
    cluster = gen.cluster().initialized()
    facts = running(cluster)
    meant = gen.resolved(cluster, facts)
    before = {intent.resource.kind: intent for intent in merge_plans(meant, facts.facts()).intents}
    elsewhere = replace(facts.with_pods(gen.pod(7)), api_servers=("10.1.1.1",))
    after = {
        intent.resource.kind: intent for intent in merge_plans(meant, elsewhere.facts()).intents
    }
    changed = {kind for kind, intent in after.items() if intent is not before[kind]}
    assert changed == {"NetworkPolicy", "Role"}
    assert all(after[kind] != before[kind] for kind in changed)
