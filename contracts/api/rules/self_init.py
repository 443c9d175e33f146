"""Rules about spec.selfInit as a whole.

Uses the API models. Collected by contracts.api.rules.cluster. The first boot runs once and cannot
be repeated, so the rules reject requests that the server would reject.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.api.cluster.job_roles import DEFAULTS, OPERATOR_ROLE, job_role
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.meta import ApiModel
from contracts.api.rules.checks import Predicate, either, group, has, it
from contracts.api.rules.combinators import rule, unique
from contracts.api.rules.rule import FORBIDDEN, REQUIRED, CelReason, InvalidField, Old, Rule, RuleOf
from contracts.api.values.url import HTTPS

JWT_MOUNT = "jwt-operator"
_OPERATORS_OWN = it("path", of="r").one_of(
    (f"auth/{JWT_MOUNT}/config", f"auth/{JWT_MOUNT}/role/{OPERATOR_ROLE}")
)
DOCUMENT_MAX = 512 * 1024


def _job_roles(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    taken = {OPERATOR_ROLE}
    for job in DEFAULTS:
        name = job_role(new.spec, job)
        if name in taken:
            yield f"spec.{job}.jwtAuthRole", name
        taken.add(name)


def _length(value: Any) -> int:
    """Return the number of characters in all strings of a model or JSON value."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, ApiModel):
        return sum(_length(item) for _, item in value)
    if isinstance(value, Mapping):
        return sum(len(key) + _length(item) for key, item in value.items())
    return sum(map(_length, value)) if isinstance(value, tuple) else 1


def _too_long(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    requests = new.spec.self_init.requests if new.spec.self_init else ()
    initial = new.spec.recovery_keys.initial if new.spec.recovery_keys else None
    keys = _length(initial) if initial else 0
    size = sum(map(_length, requests)) + keys
    if size > DOCUMENT_MAX:
        where = "spec.selfInit.requests" if size > 2 * keys else "spec.recoveryKeys.initial"
        yield where, f"{size} characters"


_SELF_INIT, _ISSUER = "spec.selfInit", "spec.selfInit.oidc.issuer"
_HAS_OIDC = group(has("oidc") & it("oidc.enabled").is_true())


def _starts(path: str) -> Predicate:
    return it("path", of="r").starts_with(path)


def _is(path: str) -> Predicate:
    return it("path", of="r").equals(path)


def _any(request: Predicate) -> Predicate:
    return it("requests").exists("r", request)


def _requests_rule(
    id: str,
    message: str,
    holds: Predicate,
    request: Predicate,
    reason: CelReason = "FieldValueInvalid",
) -> Rule:
    """Return a rule at spec.selfInit; the requests for which `request` holds are invalid."""
    each = ("requests[]", request)
    return rule(id, _SELF_INIT, "requests", message, holds, names="path", each=each, reason=reason)


SELF_INIT_RULES: tuple[Rule, ...] = (
    rule(
        "self-init-requests",
        _SELF_INIT,
        "requests",
        "must not be empty when selfInit.enabled is true, because no user could log in; add a "
        "login for your users",
        ~it("enabled").is_true() | group(has("requests") & it("requests").size().above(0)),
        shows=None,
        reason=REQUIRED,
    ),
    unique(
        "self-init-names",
        _SELF_INIT,
        "requests",
        "requests[].name",
        "must have unique names; rename a request",
    ),
    rule(
        "oidc-needs-self-init",
        _SELF_INIT,
        "oidc.enabled",
        "needs selfInit.enabled: true; set that, or set this field to false",
        it("enabled").is_true() | ~_HAS_OIDC,
    ),
    rule(
        "oidc-issuer",
        _ISSUER,
        "",
        "must be an https URL without user, query or fragment; correct it, or remove it so that "
        "the operator discovers it",
        it().matches(HTTPS),
    ),
    rule(
        "oidc-issuer-place",
        _ISSUER,
        "",
        "must not be a local address, a number in an unusual notation or a cloud metadata "
        "service, and must not contain /.well-known/; set the issuer, or remove it so that the "
        "operator discovers it",
        it().is_elsewhere() & ~it().contains("/.well-known/"),
    ),
    rule(
        "audit-request-needs-flag",
        "spec",
        "selfInit.requests",
        "must not write to sys/audit/ unless configuration.unsafeAllowAPIAuditCreation is "
        "true, because the server rejects it and the first boot would fail; set that",
        either("configuration.unsafeAllowAPIAuditCreation", False).is_true()
        | ~has("selfInit")
        | ~has("selfInit.requests")
        | ~it("selfInit.requests").exists("r", _starts("sys/audit/")),
        names="path",
        each=("selfInit.requests[]", _starts("sys/audit/")),
        reason=FORBIDDEN,
    ),
    _requests_rule(
        "jwt-needs-mount",
        "must enable sys/auth/jwt before a request writes to auth/jwt/; add that request",
        ~has("requests") | ~_any(_starts("auth/jwt/")) | _any(_is("sys/auth/jwt")),
        _starts("auth/jwt/"),
    ),
    _requests_rule(
        "jwt-operator-needs-oidc",
        f"must not write to auth/{JWT_MOUNT}/ unless selfInit.oidc.enabled is true, which "
        "enables that login; set that",
        _HAS_OIDC
        | ~has("requests")
        | _any(_is(f"sys/auth/{JWT_MOUNT}"))
        | ~_any(_starts(f"auth/{JWT_MOUNT}/")),
        _starts(f"auth/{JWT_MOUNT}/"),
    ),
    _requests_rule(
        "jwt-operator-taken",
        f"must not enable sys/auth/{JWT_MOUNT} when selfInit.oidc.enabled is true, because the "
        "operator enables it; remove that request",
        ~_HAS_OIDC | ~has("requests") | ~_any(_is(f"sys/auth/{JWT_MOUNT}")),
        _is(f"sys/auth/{JWT_MOUNT}"),
        reason=FORBIDDEN,
    ),
    _requests_rule(
        "jwt-operator-login",
        f"must not write auth/{JWT_MOUNT}/config or the role {OPERATOR_ROLE}, because the operator "
        "could not log in; remove that request, or use oidc.additionalSubjects or another role",
        ~_HAS_OIDC | ~has("requests") | ~_any(_OPERATORS_OWN),
        _OPERATORS_OWN,
        reason=FORBIDDEN,
    ),
    RuleOf(
        "job-roles",
        "spec",
        "spec",
        "must be another role, because each role has the rights of one kind of Job; choose "
        "another name",
        _job_roles,
    ),
    RuleOf(
        "self-init-length",
        "spec",
        "spec.selfInit.requests",
        "must fit into a ConfigMap together with spec.recoveryKeys.initial, "
        f"{DOCUMENT_MAX} characters; write the rest later",
        _too_long,
    ),
)
