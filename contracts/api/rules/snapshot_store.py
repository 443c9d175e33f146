"""Rules about where snapshots are kept, the same for each field of the API that names a store.

Uses contracts.api.values.url and the API models. Called by the rules about spec.backup of clusters
and about the source of restores; each names the path of its store.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from contracts.api.cluster.snapshot_store import BackupTarget
from contracts.api.rules.rule import BrokenOf, CelReason, Offence, RuleOf, either
from contracts.api.values import url
from contracts.api.values.pattern import Pattern

Kind = TypeVar("Kind")
Find = Callable[[BackupTarget], Iterator[Offence]]
"""The offences of one store: fields relative to it, "" for the store itself."""

DOTS = Pattern(r"(^|/)\.+(/|$)")
"""A path with a part of dots alone, which would climb out of its folder."""
_BUCKET = Pattern(r"^[A-Za-z0-9$][A-Za-z0-9._-]*$")
_PREFIX = Pattern(r"^([A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*/?)?$")
_PROVIDER = either("provider", "'s3'")
_REMOTE = ("endpoint", "credentialsSecretRef", "workloadIdentity")


@dataclass(frozen=True, slots=True)
class TargetRule:
    """A rule about a store; `at` and `field` are relative to it."""

    id: str
    field: str
    message: str
    find: Find
    cel: str
    at: str = ""
    got: str = ""
    reason: CelReason = "FieldValueInvalid"


def target_rules(
    prefix: str, path: str, of: Callable[[Kind], BackupTarget | None]
) -> tuple[RuleOf[Kind], ...]:
    """The rules about the store that `of` finds in an object, at `path` of its schema."""
    return tuple(
        RuleOf(
            id=f"{prefix}-{rule.id}",
            at=_joined(path, rule.at),
            field=_joined(path, rule.field),
            message=rule.message,
            broken=_broken(rule.find, path, of),
            cel=rule.cel,
            got=rule.got,
            reason=rule.reason,
        )
        for rule in TARGET_RULES
    )


def _joined(path: str, field: str) -> str:
    return f"{path}.{field}" if field else path


def _broken(find: Find, path: str, of: Callable[[Kind], BackupTarget | None]) -> BrokenOf[Kind]:
    def broken(new: Kind, old: Kind | None) -> Iterator[Offence]:
        target = of(new)
        if target is not None:
            for field, value in find(target):
                yield _joined(path, field), value

    return broken


def _bucket(target: BackupTarget) -> Iterator[Offence]:
    if not _BUCKET.found_in(target.bucket) or ".." in target.bucket:
        yield "bucket", target.bucket


def _prefix(target: BackupTarget) -> Iterator[Offence]:
    prefix = target.path_prefix
    if prefix is not None and (not _PREFIX.found_in(prefix) or DOTS.found_in(prefix)):
        yield "pathPrefix", prefix


def _s3_endpoint(target: BackupTarget) -> Iterator[Offence]:
    if target.provider == "s3" and target.endpoint is None:
        yield "endpoint", None


def _endpoint(target: BackupTarget) -> Iterator[Offence]:
    if target.endpoint is not None and not url.ENDPOINT.found_in(target.endpoint):
        yield "endpoint", target.endpoint


def _endpoint_place(target: BackupTarget) -> Iterator[Offence]:
    if target.endpoint is not None and not url.is_elsewhere(target.endpoint):
        yield "endpoint", target.endpoint


def _blocks(target: BackupTarget) -> dict[str, Any]:
    """What belongs to one provider alone, by its field."""
    return {
        "gcs": target.gcs,
        "azure": target.azure,
        "pvc": target.pvc,
        "roleArn": target.role_arn,
    }


def _only_for(field: str, provider: str) -> TargetRule:
    def find(target: BackupTarget) -> Iterator[Offence]:
        if _blocks(target)[field] is not None and target.provider != provider:
            yield field, target.provider

    return TargetRule(
        id=field.lower(),
        field=field,
        message=f"is only for provider {provider}; remove it or change the provider",
        find=find,
        cel=f"!has(self.{field}) || {_PROVIDER} == '{provider}'",
        got=_PROVIDER,
        reason="FieldValueForbidden",
    )


def _claim(target: BackupTarget) -> Iterator[Offence]:
    if target.provider == "pvc" and target.pvc is None:
        yield "pvc", None


def _remote(target: BackupTarget) -> Iterator[Offence]:
    if target.provider == "pvc" and (
        target.endpoint is not None
        or target.credentials_secret_ref is not None
        or target.workload_identity is not None
    ):
        yield "", None


TARGET_RULES: tuple[TargetRule, ...] = (
    TargetRule(
        id="bucket",
        at="bucket",
        field="bucket",
        message=(
            "must be letters, digits, dots, dashes and underscores, without two dots in a row; "
            "name the bucket alone"
        ),
        find=_bucket,
        cel=f"{_BUCKET.cel('self')} && !self.contains('..')",
        got="self",
    ),
    TargetRule(
        id="prefix",
        at="pathPrefix",
        field="pathPrefix",
        message=(
            "must be words of letters, digits, dots, dashes and underscores between slashes, none "
            "of them made of dots alone; production is a good value"
        ),
        find=_prefix,
        cel=f"{_PREFIX.cel('self')} && !{DOTS.cel('self')}",
        got="self",
    ),
    TargetRule(
        id="s3-endpoint",
        field="endpoint",
        message="must be set for provider s3; name the URL of the store",
        find=_s3_endpoint,
        cel=f"{_PROVIDER} != 's3' || has(self.endpoint)",
        reason="FieldValueRequired",
    ),
    TargetRule(
        id="endpoint",
        at="endpoint",
        field="endpoint",
        message=(
            "must be a URL of scheme https, http or s3 with a host, and without user, query or "
            "fragment; https://s3.example.com is a good value"
        ),
        find=_endpoint,
        cel=url.ENDPOINT.cel("self"),
    ),
    TargetRule(
        id="endpoint-place",
        at="endpoint",
        field="endpoint",
        message=(
            "must not be an address of the machine or link itself, nor a number in an unusual "
            "spelling; name the store by its host"
        ),
        find=_endpoint_place,
        cel=url.is_elsewhere_cel("self"),
        reason="FieldValueForbidden",
    ),
    _only_for("gcs", "gcs"),
    _only_for("azure", "azure"),
    _only_for("pvc", "pvc"),
    _only_for("roleArn", "s3"),
    TargetRule(
        id="claim",
        field="pvc",
        message="must be set for provider pvc; name the claim of the volume in pvc.claimName",
        find=_claim,
        cel=f"{_PROVIDER} != 'pvc' || has(self.pvc)",
        reason="FieldValueRequired",
    ),
    TargetRule(
        id="volume",
        field="",
        message=(
            "must not have endpoint, credentialsSecretRef or workloadIdentity for provider pvc, "
            "because nobody logs in to a volume; remove them"
        ),
        find=_remote,
        cel=f"{_PROVIDER} != 'pvc' || !(" + " || ".join(f"has(self.{f})" for f in _REMOTE) + ")",
        reason="FieldValueForbidden",
    ),
)
