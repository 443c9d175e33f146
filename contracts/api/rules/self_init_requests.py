"""Rules about one request of spec.selfInit.

Uses the API models and contracts.hcl_quote. Collected by contracts.api.rules.cluster. The first
boot happens once and cannot be repaired, so what the server would refuse then is refused here.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from contracts.api.cluster.self_init import SelfInitRequest
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.meta import ApiModel
from contracts.api.rules.rule import Broken, Offence, Rule
from contracts.hcl_quote import problem
from contracts.server_features import offers, since

Old = OpenBaoCluster | None
FindInRequest = Callable[[SelfInitRequest], Any]

BOOTSTRAP_BLOCK = "operator-bootstrap"
RECOVERY_BLOCK = "operator-recovery-keys"

_REQUESTS = "spec.selfInit.requests[]"
# Payload field of the CRD, field of the model, and the paths that it is for.
_TYPED = (
    ("auditDevice", "audit_device", "sys/audit/"),
    ("authMethod", "auth_method", "sys/auth/"),
    ("secretEngine", "secret_engine", "sys/mounts/"),
    ("policy", "policy", "sys/policies/"),
)
_FORBIDDEN_SOURCES = ("env", "file")
_TOKEN_HEADERS = frozenset({"authorization", "x-vault-token"})


def _in_requests(find: FindInRequest, field: str = "") -> Broken:
    """Each request for which `find` returns something other than None offends with that."""

    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        requests = new.spec.self_init.requests if new.spec.self_init else ()
        for position, request in enumerate(requests):
            value = find(request)
            if value is not None:
                yield f"spec.selfInit.requests[{position}]{field}", value

    return broken


def _reserved_name(request: SelfInitRequest) -> str | None:
    return request.name if request.name in (BOOTSTRAP_BLOCK, RECOVERY_BLOCK) else None


def _climbing_path(request: SelfInitRequest) -> str | None:
    return request.path if ".." in request.path else None


def _payloads(request: SelfInitRequest) -> list[str]:
    named = [("data", "data"), *((crd, model) for crd, model, _ in _TYPED)]
    return [crd for crd, model in named if getattr(request, model) is not None]


def _several_payloads(request: SelfInitRequest) -> str | None:
    payloads = _payloads(request)
    return ", ".join(payloads) if len(payloads) > 1 else None


def _misplaced_payload(request: SelfInitRequest) -> str | None:
    for _, model, prefix in _TYPED:
        if getattr(request, model) is not None and not request.path.startswith(prefix):
            return request.path
    return None


def _missing_payload(request: SelfInitRequest) -> str | None:
    writes = request.operation in ("create", "update")
    typed = request.path.startswith(tuple(prefix for _, _, prefix in _TYPED))
    return request.path if writes and typed and not _payloads(request) else None


def _audit_options(request: SelfInitRequest) -> str | None:
    device = request.audit_device
    if device is None:
        return None
    configured = [kind for kind, value in device.blocks().items() if value is not None]
    if configured not in ([], [device.type]) or (
        device.type in ("file", "http") and not configured
    ):
        return device.type
    return None


def _unwritable(request: SelfInitRequest) -> str | None:
    return problem(_plain(request)) or None


def _plain(value: Any) -> Any:
    """The fields of a model, and of the models in them; quicker than to dump it."""
    if isinstance(value, ApiModel):
        return {name: _plain(item) for name, item in value}
    return value


def _computed(value: Any) -> str | None:
    """What a computed value may not be: one that reads the pod's files or environment, or one
    that the server cannot take for computed and refuses."""
    if isinstance(value, Mapping):
        source, kind = value.get("eval_source"), value.get("eval_type")
        if source in _FORBIDDEN_SOURCES:
            return f"eval_source {source}"
        if (source is None) != (kind is None):
            return "eval_source without eval_type" if kind is None else "eval_type without source"
        return next(filter(None, map(_computed, value.values())), None)
    if isinstance(value, tuple):
        return next(filter(None, map(_computed, value)), None)
    return None


def _computed_data(request: SelfInitRequest) -> str | None:
    return _computed(request.data)


def _computed_when(request: SelfInitRequest) -> str | None:
    return _computed(request.when)


def _strange_when(request: SelfInitRequest) -> str | None:
    condition = request.when
    if condition is None or isinstance(condition, bool):
        return None
    if isinstance(condition, Mapping) and "eval_source" in condition and "eval_type" in condition:
        return None
    return type(condition).__name__


def _token_header(request: SelfInitRequest) -> str | None:
    return next((name for name in request.headers or () if name.lower() in _TOKEN_HEADERS), None)


def _since(feature: str, find: FindInRequest, field: str) -> Broken:
    """Requests for which `find` returns something, while the wanted version lacks the feature."""
    broken = _in_requests(find, field)

    def too_old(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        if not offers(new.spec.version, feature):
            yield from ((path, new.spec.version) for path, _ in broken(new, old))

    return too_old


def _folded(value: Any, below_list: bool = False, object_above: bool = False) -> bool:
    """Whether an object is in an object in a list: the server would make a list of it."""
    if isinstance(value, Mapping):
        if below_list and object_above:
            return True
        return any(_folded(item, below_list, below_list) for item in value.values())
    if isinstance(value, tuple):
        return any(_folded(item, True, False) for item in value)
    return False


def _folded_data(request: SelfInitRequest) -> str | None:
    return "an object in an object in a list" if _folded(request.data) else None


REQUEST_RULES: tuple[Rule, ...] = (
    Rule(
        id="request-name-reserved",
        at=f"{_REQUESTS}.name",
        field=f"{_REQUESTS}.name",
        message=(
            f"must not be {BOOTSTRAP_BLOCK} nor {RECOVERY_BLOCK}, which are the operator's own; "
            "rename the request"
        ),
        broken=_in_requests(_reserved_name, ".name"),
        cel=f"!(self in ['{BOOTSTRAP_BLOCK}', '{RECOVERY_BLOCK}'])",
    ),
    Rule(
        id="request-path",
        at=f"{_REQUESTS}.path",
        field=f"{_REQUESTS}.path",
        message="must not contain two dots in a row; correct the path",
        broken=_in_requests(_climbing_path, ".path"),
        cel="!self.contains('..')",
    ),
    Rule(
        id="request-one-payload",
        at=_REQUESTS,
        field=_REQUESTS,
        message=(
            "must have at most one payload of data, auditDevice, authMethod, secretEngine and "
            "policy; remove the others"
        ),
        broken=_in_requests(_several_payloads),
        cel="[has(self.data), has(self.auditDevice), has(self.authMethod), "
        "has(self.secretEngine), has(self.policy)].filter(given, given).size() <= 1",
        got="self.name",
    ),
    Rule(
        id="request-payload-place",
        at=_REQUESTS,
        field=f"{_REQUESTS}.path",
        message=(
            "must be under sys/audit/ with auditDevice, sys/auth/ with authMethod, sys/mounts/ "
            "with secretEngine and sys/policies/ with policy; correct the path or use data"
        ),
        broken=_in_requests(_misplaced_payload, ".path"),
        cel=" && ".join(
            f"(!has(self.{crd}) || self.path.startsWith('{prefix}'))" for crd, _, prefix in _TYPED
        ),
        got="self.path",
    ),
    Rule(
        id="request-payload-missing",
        at=_REQUESTS,
        field=_REQUESTS,
        message=(
            "needs a payload, because the server refuses an empty write at this path; add "
            "auditDevice, authMethod, secretEngine, policy or data"
        ),
        broken=_in_requests(_missing_payload),
        cel=(
            "!(self.operation in ['create', 'update']) || "
            "!self.path.matches('^sys/(audit|auth|mounts|policies)/') || "
            "has(self.data) || has(self.auditDevice) || has(self.authMethod) || "
            "has(self.secretEngine) || has(self.policy)"
        ),
        got="self.path",
        reason="FieldValueRequired",
    ),
    Rule(
        id="audit-device-options",
        at=f"{_REQUESTS}.auditDevice",
        field=f"{_REQUESTS}.auditDevice",
        message=(
            "must have the options of its own type only, and for file and http it must have them; "
            "correct the options"
        ),
        broken=_in_requests(_audit_options, ".auditDevice"),
        cel=(
            " && ".join(
                f"(!has(self.{kind}Options) || self.type == '{kind}')"
                for kind in ("file", "http", "syslog", "socket")
            )
            + " && (self.type != 'file' || has(self.fileOptions))"
            + " && (self.type != 'http' || has(self.httpOptions))"
        ),
        got="self.type",
    ),
    Rule(
        id="request-unwritable",
        at=_REQUESTS,
        field=_REQUESTS,
        message="must hold only text and numbers that the server's configuration can carry",
        broken=_in_requests(_unwritable),
    ),
    Rule(
        id="request-computed",
        at=_REQUESTS,
        field=f"{_REQUESTS}.data",
        message=(
            "must not compute values from files or the environment of the pod, where keys of the "
            "operator are; use eval_source request or response, with eval_type, or plain values"
        ),
        broken=_in_requests(_computed_data, ".data"),
    ),
    Rule(
        id="request-when",
        at=_REQUESTS,
        field=f"{_REQUESTS}.when",
        message="must be true, false, or an object with eval_source and eval_type; correct it",
        broken=_in_requests(_strange_when, ".when"),
    ),
    Rule(
        id="request-when-computed",
        at=_REQUESTS,
        field=f"{_REQUESTS}.when",
        message=(
            "must not read files or the environment of the pod, where keys of the operator are; "
            "use eval_source request, response or cel, with eval_type"
        ),
        broken=_in_requests(_computed_when, ".when"),
    ),
    Rule(
        id="request-when-version",
        at=_REQUESTS,
        field=f"{_REQUESTS}.when",
        message=(
            f"needs OpenBao {since('self-init-when')} or newer, because an older server would send "
            "the request in any case; remove the field or choose a newer spec.version"
        ),
        # A default that is true anyway needs no support by the server.
        broken=_since(
            "self-init-when", lambda r: None if r.when in (None, True) else r.when, ".when"
        ),
    ),
    Rule(
        id="request-headers-version",
        at=_REQUESTS,
        field=f"{_REQUESTS}.headers",
        message=(
            f"needs OpenBao {since('self-init-headers')} or newer, because an older server would "
            "send the request without them; remove the field or choose a newer spec.version"
        ),
        broken=_since("self-init-headers", lambda r: r.headers or None, ".headers"),
    ),
    Rule(
        id="request-headers-token",
        at=_REQUESTS,
        field=f"{_REQUESTS}.headers",
        message=(
            "must not hold a token, because this object is stored in a ConfigMap; requests carry "
            "the right token by themselves"
        ),
        broken=_in_requests(_token_header, ".headers"),
        cel=(
            "!has(self.headers) || "
            f"!self.headers.exists(name, name.lowerAscii() in {sorted(_TOKEN_HEADERS)})"
        ),
    ),
    Rule(
        id="request-folded",
        at=_REQUESTS,
        field=f"{_REQUESTS}.data",
        message=(
            "must not hold an object in an object in a list, because the server would read a list "
            "there; write this one with the API later"
        ),
        broken=_in_requests(_folded_data, ".data"),
    ),
)
