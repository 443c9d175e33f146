"""Rules about spec.backup and its object store.

Uses contracts.api.values.cron, contracts.api.rules.snapshot_store and the API models. Collected by
contracts.api.rules.cluster.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from contracts.api.cluster.backup import Backup
from contracts.api.rules.checks import exactly_one, group, has, is_set, it
from contracts.api.rules.combinators import invalid_fields, prefix_rules, rule
from contracts.api.rules.rule import REQUIRED, InvalidField, Rule, RuleOf
from contracts.api.rules.snapshot_store import TARGET_RULES
from contracts.api.rules.spec import JOB_ROLES
from contracts.api.values import cron
from contracts.api.values.field_path import value_at
from contracts.api.values.pattern import Pattern

SCHEDULE_GAP_MIN = 15
"""Minimum of minutes between two snapshots: each one reads all data of the leader."""
_ANY_DAY = datetime(2026, 1, 1, tzinfo=UTC)
_TEST = "spec.backup.restoreTest"
# The part of the rule that CEL can check: a star in the minutes, alone or with a short step.
_EVERY_FEW_MINUTES = Pattern(r"^([^ ]*,)?\*(/([1-9]|1[0-4]))?[ ,]")


def _bad_schedule(backup: Backup) -> Iterator[InvalidField]:
    for path in ("schedule", "restoreTest.schedule"):
        text = value_at(backup, path)
        if not text or _EVERY_FEW_MINUTES.found_in(text):
            continue
        try:
            gap = cron.parse(text).shortest_gap()
            # Called twice, because a schedule must have a second due time.
            cron.next_after(text, cron.next_after(text, _ANY_DAY))
        except ValueError as error:
            yield path, f"{text}: {error}"
        else:
            if gap < SCHEDULE_GAP_MIN:
                yield path, text


_SCHEDULE = (
    "must be five cron fields (minute, hour, day of the month, month, day of the week; UTC) "
    f"that are due at most every {SCHEDULE_GAP_MIN} minutes; for example 0 3 * * *"
)


def _hasty_rule(at: str) -> Rule:
    hasty = it().matches(_EVERY_FEW_MINUTES)
    return rule(f"hasty-{at.removeprefix('spec.')}", at, "", _SCHEDULE, ~hasty, got=it())


_TLS = "clusterTemplate.tls"

BACKUP_RULES: tuple[Rule, ...] = (
    RuleOf(
        "backup-schedule",
        "spec.backup.schedule",
        "spec.backup.schedule",
        _SCHEDULE,
        invalid_fields("spec.backup", _bad_schedule),
    ),
    *map(_hasty_rule, ("spec.backup.schedule", f"{_TEST}.schedule")),
    *prefix_rules(TARGET_RULES, "backup", "spec.backup.target"),
    rule(
        "backup-login",
        "spec",
        "backup",
        "must be able to log in: enable selfInit.oidc, or set backup.jwtAuthRole or "
        "backup.tokenSecretRef",
        ~has("backup") | JOB_ROLES | has("backup.jwtAuthRole") | has("backup.tokenSecretRef"),
        names="backup.jwtAuthRole",
        shows=None,
        reason=REQUIRED,
    ),
    rule(
        "restore-test-trigger",
        _TEST,
        "",
        "must have exactly one of schedule and everySuccessfulBackups; set one",
        exactly_one("schedule", "everySuccessfulBackups"),
        shows=None,
    ),
    rule(
        "restore-test-tls",
        _TEST,
        _TLS,
        "must be OperatorManaged and enabled, because only the operator creates certificates for "
        "a temporary cluster; remove it",
        ~is_set(_TLS)
        | group(
            group(~has(f"{_TLS}.enabled") | it(f"{_TLS}.enabled").is_true())
            & group(~has(f"{_TLS}.mode") | it(f"{_TLS}.mode").equals("OperatorManaged"))
        ),
        shows=f"{_TLS}.mode",
    ),
)
