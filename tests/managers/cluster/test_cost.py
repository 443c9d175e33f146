"""The cost of a reconcile without a change, in calls: a clock would measure other processes."""

from dataclasses import replace

from managers.cluster.plan.steps import merge_plans
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
    assert bench.api.requests == []
    assert 500 < count.calls < BUDGET


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
