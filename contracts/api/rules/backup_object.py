"""Rules about an OpenBaoBackup that go beyond the shape of one field.

Uses contracts.api.rules.rule and the model. Called by contracts.api.schema.backup, which writes
them into the CRD, and by managers.backup, which checks them again: an object may be older than a
rule.
"""

from collections.abc import Iterator

from contracts.api.backup import OpenBaoBackup
from contracts.api.rules.immutable import fixed_spec
from contracts.api.rules.rule import Offence, RuleOf, broken_rules
from contracts.api.violation import Violation


def _scheduled(new: OpenBaoBackup, old: OpenBaoBackup | None) -> Iterator[Offence]:
    spec = new.spec
    if (spec.origin == "Scheduled") != (spec.scheduled_time is not None):
        yield "spec.scheduledTime", spec.origin


SNAPSHOT_RULES: tuple[RuleOf[OpenBaoBackup], ...] = (
    fixed_spec("snapshot", "make another OpenBaoBackup"),
    RuleOf(
        id="snapshot-scheduled",
        at="spec",
        field="spec.scheduledTime",
        message="must be set for origin Scheduled, and only for it; leave both to the operator",
        broken=_scheduled,
        cel="(has(self.origin) && self.origin == 'Scheduled') == has(self.scheduledTime)",
    ),
)


def snapshot_violations(
    backup: OpenBaoBackup, old: OpenBaoBackup | None = None
) -> tuple[Violation, ...]:
    """What is wrong with a backup, in the order of the rules; empty when nothing is."""
    return tuple(broken_rules(SNAPSHOT_RULES, backup, old))
