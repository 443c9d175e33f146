"""Rules about an OpenBaoBackup that go beyond the shape of one field.

Uses contracts.api.rules.rule and the model. Called by contracts.api.schema.backup, which writes
them into the CRD, and by managers.backup, which checks them again: an object may be older than a
rule.
"""

from contracts.api.backup import OpenBaoBackup
from contracts.api.rules.checks import group, has, it
from contracts.api.rules.combinators import immutable_spec, rule
from contracts.api.rules.rule import RuleOf, broken_rules
from contracts.api.violation import Violation

SNAPSHOT_RULES: tuple[RuleOf[OpenBaoBackup], ...] = (
    immutable_spec("snapshot", "make another OpenBaoBackup"),
    rule(
        "snapshot-scheduled",
        "spec",
        "scheduledTime",
        "must be set for origin Scheduled, and only for it; leave both to the operator",
        group(has("origin") & it("origin").equals("Scheduled")).is_as(has("scheduledTime")),
        shows="origin",
    ),
)


def snapshot_violations(
    backup: OpenBaoBackup, old: OpenBaoBackup | None = None
) -> tuple[Violation, ...]:
    """What is wrong with a backup, in the order of the rules; empty when nothing is."""
    return tuple(broken_rules(SNAPSHOT_RULES, backup, old))
