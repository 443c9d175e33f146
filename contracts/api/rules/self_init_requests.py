"""Rules about one request of spec.selfInit.

Uses the API models and contracts.hcl_quote. Collected by contracts.api.rules.cluster. The first
boot runs once and cannot be repeated, so the rules reject requests that the server would reject.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from contracts.api.cluster.self_init import SelfInitRequest
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.meta import ApiModel
from contracts.api.rules.audit import OWN_OPTIONS
from contracts.api.rules.checks import all_of, any_of, group, has, it
from contracts.api.rules.combinators import rule
from contracts.api.rules.rule import REQUIRED, FindInvalidFields, InvalidField, Old, Rule, RuleOf
from contracts.api.values.field_path import nodes_at, value_at
from contracts.api.values.pattern import Pattern
from contracts.api.violation import Explanation
from contracts.hcl_quote import problem
from contracts.server_features import offers, since

FindInRequest = Callable[[SelfInitRequest], Any]

BOOTSTRAP_BLOCK = "operator-bootstrap"
RECOVERY_BLOCK = "operator-recovery-keys"

_REQUESTS = "spec.selfInit.requests[]"
# The paths of each typed payload.
_TYPED = {
    "auditDevice": "sys/audit/",
    "authMethod": "sys/auth/",
    "secretEngine": "sys/mounts/",
    "policy": "sys/policies/",
}
_TYPED_PATH = Pattern("^sys/(audit|auth|mounts|policies)/")
_FORBIDDEN_SOURCES = ("env", "file")
_TOKEN_HEADERS = frozenset({"authorization", "x-vault-token"})


def _several_payloads(request: SelfInitRequest) -> str | None:
    payloads = [name for name in ("data", *_TYPED) if value_at(request, name) is not None]
    return ", ".join(payloads) if len(payloads) > 1 else None


def _unwritable(request: SelfInitRequest) -> str | None:
    refusal = problem(_plain(request))
    return Explanation(refusal) if refusal else None


def _plain(value: Any) -> Any:
    """Return the fields of a model and of nested models; faster than model_dump."""
    if isinstance(value, ApiModel):
        return {name: _plain(item) for name, item in value}
    return value


def _invalid_evaluation(value: Any) -> str | None:
    """Return the invalid part of a computed value: it reads files or the environment of the pod, or
    the server would reject it because it is incomplete."""
    if isinstance(value, Mapping):
        source, kind = value.get("eval_source"), value.get("eval_type")
        if source in _FORBIDDEN_SOURCES:
            return f"eval_source {source}"
        if (source is None) != (kind is None):
            return "eval_source without eval_type" if kind is None else "eval_type without source"
        return next(filter(None, map(_invalid_evaluation, value.values())), None)
    if isinstance(value, tuple):
        return next(filter(None, map(_invalid_evaluation, value)), None)
    return None


def _strange_when(request: SelfInitRequest) -> Any:
    condition = request.when
    if condition is None or isinstance(condition, bool):
        return None
    if isinstance(condition, Mapping) and "eval_source" in condition and "eval_type" in condition:
        return None
    return condition


def _token_header(request: SelfInitRequest) -> str | None:
    return next((name for name in request.headers or () if name.lower() in _TOKEN_HEADERS), None)


def _since(feature: str, field: str, find: FindInRequest) -> FindInvalidFields:
    """Return a function that finds requests with the field, if spec.version lacks the feature."""

    def too_old(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
        if not offers(new.spec.version, feature):
            for path, request in nodes_at(new, _REQUESTS):
                if find(request):
                    yield f"{path}.{field}", new.spec.version

    return too_old


def _has_folded_object(value: Any, below_list: bool = False, object_above: bool = False) -> bool:
    """Return whether a list has an object in an object, which the server converts to a list."""
    if isinstance(value, Mapping):
        if below_list and object_above:
            return True
        return any(_has_folded_object(item, below_list, below_list) for item in value.values())
    if isinstance(value, tuple):
        return any(_has_folded_object(item, True, False) for item in value)
    return False


def _folded_data(request: SelfInitRequest) -> str | None:
    # Without a value: the message describes it.
    return "" if _has_folded_object(request.data) else None


REQUEST_RULES: tuple[Rule, ...] = (
    rule(
        "request-name-reserved",
        f"{_REQUESTS}.name",
        "",
        f"must not be {BOOTSTRAP_BLOCK} or {RECOVERY_BLOCK}, which are reserved for the operator; "
        "rename the request",
        ~it().one_of((BOOTSTRAP_BLOCK, RECOVERY_BLOCK)),
    ),
    rule(
        "request-path",
        f"{_REQUESTS}.path",
        "",
        "must not contain two dots in a row; correct the path",
        ~it().contains(".."),
    ),
    rule(
        "request-one-payload",
        _REQUESTS,
        "",
        "must have at most one payload of data, auditDevice, authMethod, secretEngine and "
        "policy; remove the others",
        _several_payloads,
        cel="[has(self.data), has(self.auditDevice), has(self.authMethod), "
        "has(self.secretEngine), has(self.policy)].filter(given, given).size() <= 1",
        got="self.name",
    ),
    rule(
        "request-payload-place",
        _REQUESTS,
        "path",
        "must be under sys/audit/ with auditDevice, sys/auth/ with authMethod, sys/mounts/ "
        "with secretEngine and sys/policies/ with policy; correct the path or use data",
        all_of(
            group(~has(payload) | it("path").starts_with(prefix))
            for payload, prefix in _TYPED.items()
        ),
        got=it("path"),
    ),
    rule(
        "request-payload-missing",
        _REQUESTS,
        "",
        "needs a payload, because the server rejects an empty write at this path; add "
        "auditDevice, authMethod, secretEngine, policy or data",
        ~it("operation").one_of(("create", "update"))
        | ~it("path").matches(_TYPED_PATH, mark="")
        | any_of(map(has, ("data", *_TYPED))),
        got=it("path"),
        reason=REQUIRED,
    ),
    rule(
        "audit-device-options",
        f"{_REQUESTS}.auditDevice",
        "",
        "must have only the options of its type, which file and http require; correct the options",
        OWN_OPTIONS
        & group(it("type").differs("file") | has("fileOptions"))
        & group(it("type").differs("http") | has("httpOptions")),
        got=it("type"),
    ),
    rule(
        "request-unwritable",
        _REQUESTS,
        "",
        "must contain only text and numbers that are valid in the server's configuration file",
        _unwritable,
    ),
    rule(
        "request-computed",
        _REQUESTS,
        "data",
        "must not compute values from files or the environment of the pod, which contain keys of "
        "the operator; use eval_source request or response, with eval_type, or plain values",
        lambda request: _invalid_evaluation(request.data),
    ),
    rule(
        "request-when",
        _REQUESTS,
        "when",
        "must be true, false, or an object with eval_source and eval_type; correct it",
        _strange_when,
    ),
    rule(
        "request-when-computed",
        _REQUESTS,
        "when",
        "must not read files or the environment of the pod, which contain keys of the operator; "
        "use eval_source request, response or cel, with eval_type",
        lambda request: _invalid_evaluation(request.when),
    ),
    RuleOf(
        "request-when-version",
        _REQUESTS,
        f"{_REQUESTS}.when",
        f"needs OpenBao {since('self-init-when')} or newer, because an older server would send "
        "the request unconditionally; remove the field or choose a newer spec.version",
        _since("self-init-when", "when", lambda r: r.when not in (None, True)),
    ),
    RuleOf(
        "request-headers-version",
        _REQUESTS,
        f"{_REQUESTS}.headers",
        f"needs OpenBao {since('self-init-headers')} or newer, because an older server would "
        "send the request without them; remove the field or choose a newer spec.version",
        _since("self-init-headers", "headers", lambda r: r.headers),
    ),
    rule(
        "request-headers-token",
        _REQUESTS,
        "headers",
        "must not contain a token, because the server configuration is stored in a ConfigMap; the "
        "server adds the token to the requests",
        _token_header,
        cel="!has(self.headers) || "
        f"!self.headers.exists(name, name.lowerAscii() in {sorted(_TOKEN_HEADERS)})",
    ),
    rule(
        "request-folded",
        _REQUESTS,
        "data",
        "must not have an object in an object in a list, because the server would read it as a "
        "list; write this value through the API later",
        _folded_data,
    ),
)
