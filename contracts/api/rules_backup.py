"""Rules about spec.backup and its object store.

Uses contracts.api.cron, contracts.api.url and the API models. Collected by contracts.api.rules.
"""

from collections.abc import Callable, Iterator

from contracts.api import cron, url
from contracts.api.backup import Backup
from contracts.api.backup_target import BackupTarget
from contracts.api.cluster import ClusterSpec, OpenBaoCluster
from contracts.api.pattern import Pattern
from contracts.api.rule import Broken, Offence, Rule, either, is_set

Old = OpenBaoCluster | None

SCHEDULE_GAP_MIN = 15
"""Minutes between two snapshots, at least: each one reads all data of the leader."""
_TARGET = "spec.backup.target"
_TEST = "spec.backup.restoreTest"
# What CEL can tell of a schedule: a star in the minutes, alone or with a short step.
_EVERY_FEW_MINUTES = Pattern(r"^([^ ]*,)?\*(/([1-9]|1[0-4]))?[ ,]")
_BUCKET = Pattern(r"^[A-Za-z0-9$][A-Za-z0-9._-]*$")
_PREFIX = Pattern(r"^([A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*/?)?$")
_DOTS = Pattern(r"(^|/)\.+(/|$)")


def _in_backup(find: Callable[[Backup], Iterator[Offence]]) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        if new.spec.backup:
            yield from find(new.spec.backup)

    return broken


def _in_target(find: Callable[[BackupTarget], Iterator[Offence]]) -> Broken:
    return _in_backup(lambda backup: find(backup.target))


def _schedules(backup: Backup) -> Iterator[tuple[str, str]]:
    yield "spec.backup.schedule", backup.schedule
    if backup.restore_test and backup.restore_test.schedule:
        yield f"{_TEST}.schedule", backup.restore_test.schedule


def _hasty_schedule(path: str) -> Callable[[Backup], Iterator[Offence]]:
    def find(backup: Backup) -> Iterator[Offence]:
        for found, text in _schedules(backup):
            if found == path and _EVERY_FEW_MINUTES.found_in(text):
                yield path, text

    return find


def _bad_schedule(backup: Backup) -> Iterator[Offence]:
    for path, text in _schedules(backup):
        if _EVERY_FEW_MINUTES.found_in(text):
            continue
        try:
            gap = cron.parse(text).shortest_gap()
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


def _s3_endpoint(target: BackupTarget) -> Iterator[Offence]:
    if target.provider == "s3" and target.endpoint is None:
        yield f"{_TARGET}.endpoint", None


def _endpoint(target: BackupTarget) -> Iterator[Offence]:
    if target.endpoint is not None and not url.ENDPOINT.found_in(target.endpoint):
        yield f"{_TARGET}.endpoint", target.endpoint


def _endpoint_place(target: BackupTarget) -> Iterator[Offence]:
    if target.endpoint is not None and not url.is_elsewhere(target.endpoint):
        yield f"{_TARGET}.endpoint", target.endpoint


def _bucket(target: BackupTarget) -> Iterator[Offence]:
    if not _BUCKET.found_in(target.bucket) or ".." in target.bucket:
        yield f"{_TARGET}.bucket", target.bucket


def _prefix(target: BackupTarget) -> Iterator[Offence]:
    prefix = target.path_prefix
    if prefix is not None and (not _PREFIX.found_in(prefix) or _DOTS.found_in(prefix)):
        yield f"{_TARGET}.pathPrefix", prefix


def _foreign_provider(field: str, provider: str) -> Callable[[BackupTarget], Iterator[Offence]]:
    def find(target: BackupTarget) -> Iterator[Offence]:
        value = {"gcs": target.gcs, "azure": target.azure, "roleArn": target.role_arn}[field]
        if value is not None and target.provider != provider:
            yield f"{_TARGET}.{field}", target.provider

    return find


def _test_trigger(backup: Backup) -> Iterator[Offence]:
    test = backup.restore_test
    if test and (test.schedule is None) == (test.every_successful_backups is None):
        yield _TEST, None


def _test_tls(backup: Backup) -> Iterator[Offence]:
    template = backup.restore_test.cluster_template if backup.restore_test else None
    tls = template.tls if template else None
    if tls and not (tls.enabled and tls.mode == "OperatorManaged"):
        yield f"{_TEST}.clusterTemplate.tls", tls.mode


def _provider_rule(field: str, provider: str) -> Rule:
    return Rule(
        id=f"backup-{field.lower()}",
        at=_TARGET,
        field=f"{_TARGET}.{field}",
        message=f"is only for provider {provider}; remove it or change the provider",
        broken=_in_target(_foreign_provider(field, provider)),
        cel=f"!has(self.{field}) || {_PROVIDER} == '{provider}'",
        got=_PROVIDER,
        reason="FieldValueForbidden",
    )


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


_S3 = "'s3'"
_PROVIDER = either("provider", _S3)
_OIDC = (
    f"({is_set('selfInit.oidc.enabled')} && self.selfInit.enabled && self.selfInit.oidc.enabled)"
)

BACKUP_RULES: tuple[Rule, ...] = (
    Rule(
        id="backup-schedule",
        at="spec.backup.schedule",
        field="spec.backup.schedule",
        message=_SCHEDULE,
        broken=_in_backup(_bad_schedule),
    ),
    *map(_hasty_rule, ("spec.backup.schedule", f"{_TEST}.schedule")),
    Rule(
        id="backup-bucket",
        at=f"{_TARGET}.bucket",
        field=f"{_TARGET}.bucket",
        message=(
            "must be letters, digits, dots, dashes and underscores, without two dots in a row; "
            "name the bucket alone"
        ),
        broken=_in_target(_bucket),
        cel=f"{_BUCKET.cel('self')} && !self.contains('..')",
        got="self",
    ),
    Rule(
        id="backup-prefix",
        at=f"{_TARGET}.pathPrefix",
        field=f"{_TARGET}.pathPrefix",
        message=(
            "must be words of letters, digits, dots, dashes and underscores between slashes, none "
            "of them made of dots alone; production is a good value"
        ),
        broken=_in_target(_prefix),
        cel=f"{_PREFIX.cel('self')} && !{_DOTS.cel('self')}",
        got="self",
    ),
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
        id="backup-s3-endpoint",
        at=_TARGET,
        field=f"{_TARGET}.endpoint",
        message="must be set for provider s3; name the URL of the store",
        broken=_in_target(_s3_endpoint),
        cel=f"{_PROVIDER} != 's3' || has(self.endpoint)",
        reason="FieldValueRequired",
    ),
    Rule(
        id="backup-endpoint",
        at=f"{_TARGET}.endpoint",
        field=f"{_TARGET}.endpoint",
        message=(
            "must be a URL of scheme https, http or s3 with a host, and without user, query or "
            "fragment; https://s3.example.com is a good value"
        ),
        broken=_in_target(_endpoint),
        cel=url.ENDPOINT.cel("self"),
    ),
    Rule(
        id="backup-endpoint-place",
        at=f"{_TARGET}.endpoint",
        field=f"{_TARGET}.endpoint",
        message=(
            "must not be an address of the machine or link itself, nor a number in an unusual "
            "spelling; name the store by its host"
        ),
        broken=_in_target(_endpoint_place),
        cel=url.is_elsewhere_cel("self"),
        reason="FieldValueForbidden",
    ),
    _provider_rule("gcs", "gcs"),
    _provider_rule("azure", "azure"),
    _provider_rule("roleArn", "s3"),
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
