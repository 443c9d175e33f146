"""What a pass costs in which nothing has changed: counted, because a clock would tell of others."""

from dataclasses import replace

from managers.cluster.plan.steps import merge_plans
from tests import gen
from tests.gen.calls import CallCount
from tests.gen.worlds import running
from tests.managers.cluster.bench import KEY, booted

# Calls of functions, Python's and C's, that a pass may take. 8,600 of them took 0.9 ms on an idle
# machine when this was written; 3,140 are left, about 80 of them for each object of the cluster.
BUDGET = 3200


async def test_t24_a_pass_without_a_change_is_cheap_and_asks_for_nothing() -> None:
    bench = await booted(gen.cluster())
    await bench.until_quiet()
    # From here on the caches hold the same objects, as those of a quiet cluster do.
    await bench.reconcile(KEY)
    bench.api.calls.clear()
    with CallCount() as count:
        await bench.reconcile(KEY)
    assert bench.api.asked == []
    assert 500 < count.calls < BUDGET


def test_what_is_built_from_the_same_facts_is_built_once() -> None:
    cluster = gen.cluster().initialized()
    facts = running(cluster)
    meant = gen.resolved(cluster, facts)
    one, other = merge_plans(meant, facts.facts()), merge_plans(meant, facts.facts())
    assert all(mine is yours for mine, yours in zip(one.intents, other.intents, strict=True))


def test_what_hangs_on_a_fact_is_built_anew_when_the_fact_changes() -> None:
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
