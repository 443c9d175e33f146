"""Fields that the schema accepts and this version cannot honour.

Uses contracts.api.cluster. Called by resolve, which turns the answer into the condition
FieldsNotServed: a field is honoured or named, never passed over in silence. Who builds one of these
parts deletes its row.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from contracts.api.cluster import ClusterSpec
from contracts.api.meta import ApiModel

Asked = Callable[[Any], bool]


def _asks(value: Any) -> bool:
    """Whether a value asks for anything: what is absent, empty or switched off does not."""
    if isinstance(value, Mapping):
        if "enabled" in value:
            return bool(value["enabled"])
        return any(map(_asks, value.values()))
    return bool(value)


@dataclass(frozen=True, slots=True)
class NotServed:
    """A field that is not honoured.

    `essential`: a cluster built without it would be another cluster than the one asked for (less
    safe, or never repairable after its first boot), so nothing may be built. `asked` says whether
    the value found there wants what we cannot do.
    """

    path: str
    message: str
    essential: bool = False
    asked: Asked = _asks


def _unless(served: Any) -> Asked:
    return lambda value: value is not None and value != served


_LATER = "is not built into this version"
_SERVER = "is not passed to the server by this version"
_FIRST_BOOT = "needs OpenBao 2.6 and is not built into this version"

NOT_SERVED: tuple[NotServed, ...] = (
    NotServed("spec.tls.mode", "only OperatorManaged is served", True, _unless("OperatorManaged")),
    NotServed("spec.tls.acme", _LATER),
    NotServed("spec.selfInit.oidc.policyApproverRef", _LATER),
    NotServed("spec.selfInit.oidc.additionalSubjects", _LATER, essential=True),
    NotServed("spec.selfInit.requests[].headers", _FIRST_BOOT, essential=True),
    NotServed("spec.selfInit.requests[].when", _FIRST_BOOT, True, _unless(True)),
    NotServed("spec.unseal.type", "only static is served", True, _unless("static")),
    NotServed("spec.unseal.transit", _LATER),
    NotServed("spec.unseal.awskms", _LATER),
    NotServed("spec.unseal.azureKeyVault", _LATER),
    NotServed("spec.unseal.gcpCloudKMS", _LATER),
    NotServed("spec.unseal.kmip", _LATER),
    NotServed("spec.unseal.ocikms", _LATER),
    NotServed("spec.unseal.pkcs11", _LATER),
    NotServed("spec.unseal.kms", _LATER),
    NotServed("spec.imageVerification", _LATER, essential=True),
    NotServed("spec.operatorImageVerification", "the operator runs no helper images"),
    NotServed("spec.securityContext", "pods run with the operator's own, restricted one"),
    NotServed("spec.workloadHardening", _LATER),
    NotServed("spec.maintenance.enabled", _LATER),
    NotServed("spec.audit", _LATER),
    NotServed("spec.auditFileStorage", _LATER),
    NotServed("spec.backup", _LATER),
    NotServed("spec.breakGlassAck", _LATER),
    NotServed("spec.controllerJWTMode", "only Shared is served", asked=_unless("Shared")),
    NotServed("spec.gateway", _LATER),
    NotServed("spec.ingress", _LATER),
    NotServed("spec.observability", _LATER),
    NotServed("spec.plugins", _LATER),
    NotServed("spec.readReplicas", _LATER),
    NotServed("spec.reconcilePolicies", _LATER),
    NotServed("spec.recoveryKeys", _LATER),
    NotServed("spec.restore", _LATER),
    NotServed("spec.telemetry", _LATER),
    NotServed("spec.upgrade", _LATER),
    NotServed("spec.configuration.acmeCARoot", _SERVER),
    NotServed("spec.configuration.cacheSize", _SERVER),
    NotServed("spec.configuration.disableCache", _SERVER),
    NotServed("spec.configuration.detectDeadlocks", _SERVER),
    NotServed("spec.configuration.rawStorageEndpoint", _SERVER),
    NotServed("spec.configuration.introspectionEndpoint", _SERVER),
    NotServed("spec.configuration.impreciseLeaseRoleTracking", _SERVER),
    NotServed("spec.configuration.allowAuditLogPrefixing", _SERVER),
    NotServed("spec.configuration.enableResponseHeaderHostname", _SERVER),
    NotServed("spec.configuration.enableResponseHeaderRaftNodeID", _SERVER),
    NotServed("spec.configuration.listener", _SERVER),
    NotServed("spec.configuration.plugin", _SERVER),
    NotServed("spec.configuration.raft.autopilot", _SERVER),
    NotServed("spec.configuration.logging.file", _SERVER),
    NotServed("spec.configuration.logging.pidFile", _SERVER),
    NotServed("spec.configuration.logging.rotateDuration", _SERVER),
    NotServed("spec.configuration.logging.rotateBytes", _SERVER),
    NotServed("spec.configuration.logging.rotateMaxFiles", _SERVER),
)


def unserved_fields(spec: ClusterSpec) -> tuple[str, ...]:
    """One line per field that asks for what is not served, "spec.backup is not built ..."."""
    return tuple(line for line, _ in _unserved(spec))


def essential_unserved_fields(spec: ClusterSpec) -> tuple[str, ...]:
    """The lines of `unserved_fields` without which nothing may be built."""
    return tuple(line for line, row in _unserved(spec) if row.essential)


def _unserved(spec: ClusterSpec) -> Iterator[tuple[str, NotServed]]:
    for row in NOT_SERVED:
        for path, value in _at(spec, "spec", row.path.split(".")[1:]):
            if row.asked(value):
                separator = ":" if row.message.startswith("only") else ""
                yield f"{path}{separator} {row.message}", row


def _at(model: ApiModel | None, prefix: str, steps: list[str]) -> Iterator[tuple[str, Any]]:
    """The values at a path of aliases, each with its own path; `name[]` goes through a list."""
    if model is None:
        return
    step, rest = steps[0], steps[1:]
    alias = step.removesuffix("[]")
    value = getattr(model, _names(type(model))[alias])
    path = f"{prefix}.{alias}"
    if step != alias:
        for position, item in enumerate(value):
            yield from _at(item, f"{path}[{position}]", rest)
    elif rest:
        yield from _at(value, path, rest)
    else:
        yield path, value


@lru_cache(maxsize=64)
def _names(model: type[ApiModel]) -> dict[str, str]:
    return {field.alias or name: name for name, field in model.model_fields.items()}
