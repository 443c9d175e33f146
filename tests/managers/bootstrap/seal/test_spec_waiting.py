"""managers.bootstrap.seal.gate: the outcome during a rotation of the unseal key."""

from managers.bootstrap.plan import plan
from runtime.outcome import Wait
from tests import gen
from tests.managers.bootstrap.seal.key_rings import FIRST, NEW, RING_OLD, world


def test_the_generation_of_a_key_is_reported_as_a_rotation() -> None:
    cluster = gen.cluster(unseal={"static": {"currentKeyID": NEW}}).initialized()
    facts = gen.running(gen.cluster().initialized())
    old = world(RING_OLD, RING_OLD, RING_OLD)
    facts = facts.with_set(old.stateful_set).with_pods(*old.pods).with_secrets(FIRST)
    outcome = gen.expect(Wait, plan(gen.resolved(cluster, facts), facts.facts()).outcome)
    assert outcome.reason == "RotatingUnsealKey"
    assert NEW in outcome.message
