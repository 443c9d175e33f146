"""The desired objects, and the result of their application."""

from contracts.builders.metadata import cluster_object
from contracts.records.applied_objects import AppliedObjects
from contracts.records.desired import Desired
from runtime.apply.apply_result import Applied
from runtime.apply.intent import Intent
from runtime.builtin_kinds import CONFIG_MAP
from runtime.verdict import Verdict
from tests import gen

MEANT = gen.resolved(gen.cluster())


def intent(name: str) -> Intent:
    return cluster_object(MEANT, CONFIG_MAP, name, {})


def applied_set(*verdicts: Verdict) -> AppliedObjects:
    desired = Desired((intent("a"),), (intent("b"),), (), (), complete=True)
    objects = tuple(
        Applied(intent(verdict.value), verdict, None, f"message of {verdict.value}")
        for verdict in verdicts
    )
    return AppliedObjects(desired, objects)


def test_desired_objects_are_in_the_order_of_their_application() -> None:
    desired = Desired((intent("a"),), (intent("b"),), (), (), complete=True)
    assert [intent.key.name for intent in desired.intents] == ["a", "b"]


def test_in_place_needs_every_object() -> None:
    assert applied_set(Verdict.SKIPPED, Verdict.CREATED, Verdict.UPDATED).in_place
    assert not applied_set(Verdict.SKIPPED, Verdict.FOREIGN).in_place
    assert not applied_set(Verdict.TERMINATING).in_place
    assert not applied_set(Verdict.REJECTED).in_place


def test_conflicts_are_the_messages_of_foreign_objects() -> None:
    objects = applied_set(Verdict.REJECTED, Verdict.FOREIGN, Verdict.SKIPPED)
    assert objects.conflicts == ("message of foreign",)
    assert [item.verdict for item in objects.of(Verdict.REJECTED, Verdict.SKIPPED)] == [
        Verdict.REJECTED,
        Verdict.SKIPPED,
    ]
