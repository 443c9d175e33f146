"""Rules about an OpenBaoBackup that the schema of a field cannot express.

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
    immutable_spec("snapshot", "create another OpenBaoBackup"),
    rule(
        "snapshot-scheduled",
        "spec",
        "scheduledTime",
        "must be set for origin Scheduled and only for it; remove both, because only the operator "
        "sets them",
        group(has("origin") & it("origin").equals("Scheduled")).iff(has("scheduledTime")),
        shows="origin",
    ),
)


def snapshot_violations(
    backup: OpenBaoBackup, old: OpenBaoBackup | None = None
) -> tuple[Violation, ...]:
    """Return the violations of a backup, in the order of the rules."""
    return tuple(broken_rules(SNAPSHOT_RULES, backup, old))
