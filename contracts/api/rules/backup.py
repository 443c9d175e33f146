"""Rules about spec.backup and its object store.

Uses contracts.api.values.cron, contracts.api.rules.snapshot_store and the API models. Collected by
contracts.api.rules.cluster.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from contracts.api.cluster.backup import Backup
from contracts.api.cluster.snapshot_store import BackupTarget
from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.api.rules.rule import Broken, Offence, Rule, RuleOf, is_set
from contracts.api.rules.snapshot_store import target_rules
from contracts.api.values import cron
from contracts.api.values.pattern import Pattern

Old = OpenBaoCluster | None

SCHEDULE_GAP_MIN = 15
"""Minutes between two snapshots, at least: each one reads all data of the leader."""
_ANY_DAY = datetime(2026, 1, 1, tzinfo=UTC)
_TARGET = "spec.backup.target"
_TEST = "spec.backup.restoreTest"
# What CEL can tell of a schedule: a star in the minutes, alone or with a short step.
_EVERY_FEW_MINUTES = Pattern(r"^([^ ]*,)?\*(/([1-9]|1[0-4]))?[ ,]")


def _in_backup(find: Callable[[Backup], Iterator[Offence]]) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        if new.spec.backup:
            yield from find(new.spec.backup)

    return broken


def _target(cluster: OpenBaoCluster) -> BackupTarget | None:
    return cluster.spec.backup.target if cluster.spec.backup else None


def _schedules(backup: Backup) -> Iterator[tuple[str, str]]:
    yield "spec.backup.schedule", backup.schedule
    if backup.restore_test and backup.restore_test.schedule:
        yield f"{_TEST}.schedule", backup.restore_test.schedule


def _hasty_schedule(path: str) -> Callable[[Backup], Iterator[Offence]]:
    def find(backup: Backup) -> Iterator[Offence]:
        for location, text in _schedules(backup):
            if location == path and _EVERY_FEW_MINUTES.found_in(text):
                yield path, text

    return find


def _bad_schedule(backup: Backup) -> Iterator[Offence]:
    for path, text in _schedules(backup):
        if _EVERY_FEW_MINUTES.found_in(text):
            continue
        try:
            gap = cron.parse(text).shortest_gap()
            # Twice: a date that comes but once in a few decades is no schedule.
            cron.next_after(text, cron.next_after(text, _ANY_DAY))
        except ValueError as error:
            yield path, f"{text}: {error}"
        else:
            if gap < SCHEDULE_GAP_MIN:
                yield path, text


def has_operator_login(spec: ClusterSpec) -> bool:
    """Whether the first boot makes the roles that executors log in with."""
    return spec.wants_operator_login


def _no_login(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    backup = new.spec.backup
    if backup is None or has_operator_login(new.spec):
        return
    if not backup.jwt_auth_role and not backup.token_secret_ref:
        yield "spec.backup.jwtAuthRole", None


def _test_trigger(backup: Backup) -> Iterator[Offence]:
    test = backup.restore_test
    if test and (test.schedule is None) == (test.every_successful_backups is None):
        yield _TEST, None


def _test_tls(backup: Backup) -> Iterator[Offence]:
    template = backup.restore_test.cluster_template if backup.restore_test else None
    tls = template.tls if template else None
    if tls and not (tls.enabled and tls.mode == "OperatorManaged"):
        yield f"{_TEST}.clusterTemplate.tls", tls.mode


_SCHEDULE = (
    "must be five fields of cron (minute, hour, day of the month, month, day of the week; "
    f"UTC) that are due at most every {SCHEDULE_GAP_MIN} minutes; 0 3 * * * is a good value"
)


def _hasty_rule(path: str) -> Rule:
    return Rule(
        id=f"hasty-{path.removeprefix('spec.')}",
        at=path,
        field=path,
        message=_SCHEDULE,
        broken=_in_backup(_hasty_schedule(path)),
        cel=f"!{_EVERY_FEW_MINUTES.cel('self')}",
        got="self",
    )


_OIDC = (
    f"({is_set('selfInit.oidc.enabled')} && self.selfInit.enabled && self.selfInit.oidc.enabled)"
)

BACKUP_RULES: tuple[RuleOf[OpenBaoCluster], ...] = (
    Rule(
        id="backup-schedule",
        at="spec.backup.schedule",
        field="spec.backup.schedule",
        message=_SCHEDULE,
        broken=_in_backup(_bad_schedule),
    ),
    *map(_hasty_rule, ("spec.backup.schedule", f"{_TEST}.schedule")),
    *target_rules("backup", _TARGET, _target),
    Rule(
        id="backup-login",
        at="spec",
        field="spec.backup",
        message=(
            "must be able to log in: enable selfInit.oidc, or set backup.jwtAuthRole or "
            "backup.tokenSecretRef"
        ),
        broken=_no_login,
        cel=(
            f"!has(self.backup) || {_OIDC} || has(self.backup.jwtAuthRole) || "
            "has(self.backup.tokenSecretRef)"
        ),
        reason="FieldValueRequired",
    ),
    Rule(
        id="restore-test-trigger",
        at=_TEST,
        field=_TEST,
        message="must have exactly one of schedule and everySuccessfulBackups; set one",
        broken=_in_backup(_test_trigger),
        cel="has(self.schedule) != has(self.everySuccessfulBackups)",
    ),
    Rule(
        id="restore-test-tls",
        at=_TEST,
        field=f"{_TEST}.clusterTemplate.tls",
        message=(
            "must be OperatorManaged and enabled, because nobody else makes certificates for a "
            "throw-away cluster; remove it"
        ),
        broken=_in_backup(_test_tls),
        cel=(
            f"!{is_set('clusterTemplate.tls')} || "
            "((!has(self.clusterTemplate.tls.enabled) || self.clusterTemplate.tls.enabled) && "
            "(!has(self.clusterTemplate.tls.mode) || "
            "self.clusterTemplate.tls.mode == 'OperatorManaged'))"
        ),
    ),
)
