"""Rules about spec.selfInit as a whole.

Uses the API models. Collected by contracts.api.rules.cluster. The first boot happens once and
cannot be repaired, so what the server would refuse then is refused here.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from contracts.api.cluster.job_roles import DEFAULTS, OPERATOR_ROLE, job_role
from contracts.api.cluster.self_init import SelfInit
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.meta import ApiModel
from contracts.api.rules.rule import Broken, Offence, Rule, either
from contracts.api.values.url import HTTPS, is_elsewhere, is_elsewhere_cel

Old = OpenBaoCluster | None
FindInSelfInit = Callable[[SelfInit], Iterator[Offence]]

JWT_MOUNT = "jwt-operator"
_OPERATORS_OWN = (f"auth/{JWT_MOUNT}/config", f"auth/{JWT_MOUNT}/role/{OPERATOR_ROLE}")
DOCUMENT_MAX = 512 * 1024

_WELL_KNOWN = "/.well-known/"


def _in_self_init(find: FindInSelfInit) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        if new.spec.self_init:
            yield from find(new.spec.self_init)

    return broken


def _has_requests(self_init: SelfInit) -> Iterator[Offence]:
    if self_init.enabled and not self_init.requests:
        yield "spec.selfInit.requests", None


def _unique(self_init: SelfInit) -> Iterator[Offence]:
    seen: set[str] = set()
    for position, request in enumerate(self_init.requests):
        if request.name in seen:
            yield f"spec.selfInit.requests[{position}].name", request.name
        seen.add(request.name)


def _oidc_needs_self_init(self_init: SelfInit) -> Iterator[Offence]:
    if self_init.oidc and self_init.oidc.enabled and not self_init.enabled:
        yield "spec.selfInit.oidc.enabled", True


def _issuer_of(self_init: SelfInit) -> str:
    return (self_init.oidc.issuer if self_init.oidc else None) or ""


def _issuer_url(self_init: SelfInit) -> Iterator[Offence]:
    issuer = _issuer_of(self_init)
    if issuer and not HTTPS.found_in(issuer):
        yield "spec.selfInit.oidc.issuer", issuer


def _issuer_place(self_init: SelfInit) -> Iterator[Offence]:
    issuer = _issuer_of(self_init)
    if issuer and (not is_elsewhere(issuer) or _WELL_KNOWN in issuer):
        yield "spec.selfInit.oidc.issuer", issuer


def _mounts(self_init: SelfInit, mount: str) -> bool:
    return any(request.path == f"sys/auth/{mount}" for request in self_init.requests)


def _has_oidc(self_init: SelfInit) -> bool:
    return bool(self_init.oidc and self_init.oidc.enabled)


def _jwt_needs_mount(self_init: SelfInit) -> Iterator[Offence]:
    for position, request in enumerate(self_init.requests):
        if request.path.startswith("auth/jwt/") and not _mounts(self_init, "jwt"):
            yield f"spec.selfInit.requests[{position}].path", request.path


def _operator_jwt_needs_oidc(self_init: SelfInit) -> Iterator[Offence]:
    if _has_oidc(self_init) or _mounts(self_init, JWT_MOUNT):
        return
    for position, request in enumerate(self_init.requests):
        if request.path.startswith(f"auth/{JWT_MOUNT}/"):
            yield f"spec.selfInit.requests[{position}].path", request.path


def _operator_jwt_taken(self_init: SelfInit) -> Iterator[Offence]:
    if not _has_oidc(self_init):
        return
    for position, request in enumerate(self_init.requests):
        if request.path == f"sys/auth/{JWT_MOUNT}":
            yield f"spec.selfInit.requests[{position}].path", request.path


def _operator_login_taken(self_init: SelfInit) -> Iterator[Offence]:
    if not _has_oidc(self_init):
        return
    for position, request in enumerate(self_init.requests):
        if request.path in _OPERATORS_OWN:
            yield f"spec.selfInit.requests[{position}].path", request.path


def _job_roles(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    taken = {OPERATOR_ROLE}
    for job in DEFAULTS:
        name = job_role(new.spec, job)
        if name in taken:
            yield f"spec.{job}.jwtAuthRole", name
        taken.add(name)


def _audit_needs_flag(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if new.spec.configuration.unsafe_allow_api_audit_creation or not new.spec.self_init:
        return
    for position, request in enumerate(new.spec.self_init.requests):
        if request.path.startswith("sys/audit/"):
            yield f"spec.selfInit.requests[{position}].path", request.path


def _length(value: Any) -> int:
    """The number of characters in all texts of a model or JSON value."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, ApiModel):
        return sum(_length(item) for _, item in value)
    if isinstance(value, Mapping):
        return sum(len(key) + _length(item) for key, item in value.items())
    return sum(map(_length, value)) if isinstance(value, tuple) else 1


def _too_long(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    requests = new.spec.self_init.requests if new.spec.self_init else ()
    initial = new.spec.recovery_keys.initial if new.spec.recovery_keys else None
    keys = _length(initial) if initial else 0
    size = sum(map(_length, requests)) + keys
    if size > DOCUMENT_MAX:
        where = "spec.selfInit.requests" if size > 2 * keys else "spec.recoveryKeys.initial"
        yield where, f"{size} characters"


_SELF_INIT = "spec.selfInit"
_HAS_OIDC = "(has(self.oidc) && self.oidc.enabled)"

SELF_INIT_RULES: tuple[Rule, ...] = (
    Rule(
        id="self-init-requests",
        at=_SELF_INIT,
        field="spec.selfInit.requests",
        message=(
            "must not be empty when selfInit.enabled is true, or nobody could ever log in; add a "
            "login for your users"
        ),
        broken=_in_self_init(_has_requests),
        cel="!self.enabled || (has(self.requests) && self.requests.size() > 0)",
        reason="FieldValueRequired",
    ),
    Rule(
        id="self-init-names",
        at=_SELF_INIT,
        field="spec.selfInit.requests",
        message="must have names that differ; rename a request",
        broken=_in_self_init(_unique),
    ),
    Rule(
        id="oidc-needs-self-init",
        at=_SELF_INIT,
        field="spec.selfInit.oidc.enabled",
        message="needs selfInit.enabled: true; switch that on or this off",
        broken=_in_self_init(_oidc_needs_self_init),
        cel=f"self.enabled || !{_HAS_OIDC}",
    ),
    Rule(
        id="oidc-issuer",
        at="spec.selfInit.oidc.issuer",
        field="spec.selfInit.oidc.issuer",
        message=(
            "must be an https URL without user, query or fragment; correct it, or remove it to "
            "have it discovered"
        ),
        broken=_in_self_init(_issuer_url),
        cel=HTTPS.cel("self"),
    ),
    Rule(
        id="oidc-issuer-place",
        at="spec.selfInit.oidc.issuer",
        field="spec.selfInit.oidc.issuer",
        message=(
            "must not be a local address, a number in an unusual spelling or a cloud's metadata "
            "service, nor hold /.well-known/; name the issuer itself, or remove it to have it "
            "discovered"
        ),
        broken=_in_self_init(_issuer_place),
        cel=f"{is_elsewhere_cel('self')} && !self.contains('{_WELL_KNOWN}')",
    ),
    Rule(
        id="audit-request-needs-flag",
        at="spec",
        field="spec.selfInit.requests",
        message=(
            "must not write to sys/audit/ unless configuration.unsafeAllowAPIAuditCreation is "
            "true, because the server refuses it and the first boot would fail; set that"
        ),
        broken=_audit_needs_flag,
        cel=(
            f"{either('configuration.unsafeAllowAPIAuditCreation', 'false')} || "
            "!has(self.selfInit) || !has(self.selfInit.requests) || "
            "!self.selfInit.requests.exists(r, r.path.startsWith('sys/audit/'))"
        ),
        reason="FieldValueForbidden",
    ),
    Rule(
        id="jwt-needs-mount",
        at=_SELF_INIT,
        field="spec.selfInit.requests",
        message="must enable sys/auth/jwt before they write to auth/jwt/; add that request",
        broken=_in_self_init(_jwt_needs_mount),
        cel=(
            "!has(self.requests) || "
            "!self.requests.exists(r, r.path.startsWith('auth/jwt/')) || "
            "self.requests.exists(r, r.path == 'sys/auth/jwt')"
        ),
    ),
    Rule(
        id="jwt-operator-needs-oidc",
        at=_SELF_INIT,
        field="spec.selfInit.requests",
        message=(
            f"must not write to auth/{JWT_MOUNT}/ unless selfInit.oidc.enabled is true, which "
            "makes that login; set that"
        ),
        broken=_in_self_init(_operator_jwt_needs_oidc),
        cel=(
            f"{_HAS_OIDC} || !has(self.requests) || "
            f"self.requests.exists(r, r.path == 'sys/auth/{JWT_MOUNT}') || "
            f"!self.requests.exists(r, r.path.startsWith('auth/{JWT_MOUNT}/'))"
        ),
    ),
    Rule(
        id="jwt-operator-taken",
        at=_SELF_INIT,
        field="spec.selfInit.requests",
        message=(
            f"must not enable sys/auth/{JWT_MOUNT} when selfInit.oidc.enabled is true, because the "
            "operator enables it; remove that request"
        ),
        broken=_in_self_init(_operator_jwt_taken),
        cel=(
            f"!{_HAS_OIDC} || !has(self.requests) || "
            f"!self.requests.exists(r, r.path == 'sys/auth/{JWT_MOUNT}')"
        ),
        reason="FieldValueForbidden",
    ),
    Rule(
        id="jwt-operator-login",
        at=_SELF_INIT,
        field="spec.selfInit.requests",
        message=(
            f"must not write auth/{JWT_MOUNT}/config nor the role {OPERATOR_ROLE}, or the operator "
            "could never log in; remove that request, use oidc.additionalSubjects or another role"
        ),
        broken=_in_self_init(_operator_login_taken),
        cel=(
            f"!{_HAS_OIDC} || !has(self.requests) || "
            f"!self.requests.exists(r, r.path in {list(_OPERATORS_OWN)})"
        ),
        reason="FieldValueForbidden",
    ),
    Rule(
        id="job-roles",
        at="spec",
        field="spec",
        message=(
            "must name a role of its own, because each role has the rights of one job; choose "
            "another name"
        ),
        broken=_job_roles,
    ),
    Rule(
        id="self-init-length",
        at="spec",
        field="spec.selfInit.requests",
        message=(
            "must fit into a ConfigMap together with spec.recoveryKeys.initial, "
            f"{DOCUMENT_MAX} characters; write the rest later"
        ),
        broken=_too_long,
    ),
)
