"""Fields that the schema accepts and this version cannot honour.

Uses contracts.api.cluster.spec. Called by managers.cluster.resolve, which turns the answer
into the condition UnsupportedFields: a field is honoured or named, never silently ignored. A change
that implements a field deletes its entry.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from contracts.api.cluster.spec import ClusterSpec
from contracts.api.meta import ApiModel
from contracts.api.values.field_path import values_at

Requests = Callable[[Any], bool]


def _asks(value: Any) -> bool:
    """Whether a value requests anything: what is absent, empty, disabled or the default does not.
    The API server stores defaults, so a stored default may not be of the user."""
    if isinstance(value, ApiModel):
        if getattr(value, "enabled", None) is False:
            return False
        fields = type(value).model_fields
        return any(_asks(item) and item != fields[name].default for name, item in value)
    if isinstance(value, Mapping):
        if "enabled" in value:
            return bool(value["enabled"])
        return any(map(_asks, value.values()))
    return bool(value)


@dataclass(frozen=True, slots=True)
class NotServed:
    """A field that is not honoured.

    `essential`: a cluster built without it would differ from the requested one (less safe, or never
    repairable after its first boot), so nothing may be built. `is_requested` says whether the value
    requests what is not supported.
    """

    path: str
    message: str
    essential: bool = False
    is_requested: Requests = _asks


def _unless(served: Any) -> Requests:
    return lambda value: value is not None and value != served


_LATER = "is not built into this version"
_NO_CLUSTER = "has no use: a restore test makes no cluster, but a server within the pod of its job"
_NO_SETTING = "is no setting of the server, and was none before"

NOT_SERVED: tuple[NotServed, ...] = (
    NotServed(
        "spec.selfInit.oidc.policyApproverRef",
        "has nothing to approve: the operator's policies never change after the first boot",
    ),
    NotServed("spec.unseal.kmip.tlsSkipVerify", _NO_SETTING),
    NotServed("spec.unseal.ocikms.compartmentID", _NO_SETTING),
    NotServed("spec.unseal.pkcs11.hmacKeyLabel", _NO_SETTING),
    NotServed(
        "spec.unseal.pkcs11.generateKey", "is not done: the key must exist before the first start"
    ),
    NotServed(
        "spec.unseal.pkcs11.rsaEncryptLocal", "has another name now: disableSoftwareEncryption"
    ),
    NotServed("spec.backup.target.gcs.project", "is not needed: the bucket alone says where it is"),
    NotServed("spec.backup.restoreTest.cleanupAfterSeconds", _NO_CLUSTER),
    NotServed("spec.backup.restoreTest.clusterTemplate", _NO_CLUSTER),
    NotServed("spec.backup.restoreTest.credentialsSecretRef", _NO_CLUSTER),
    NotServed("spec.backup.restoreTest.namespace", _NO_CLUSTER),
    NotServed("spec.controllerJWTMode", "only Shared is served", True, _unless("Shared")),
    NotServed("spec.reconcilePolicies", _LATER),
)


def unserved_fields(spec: ClusterSpec) -> tuple[str, ...]:
    """One line per field that asks for what is not served, "spec.backup is not built ..."."""
    return tuple(line for line, _ in _unserved(spec))


def essential_unserved_fields(spec: ClusterSpec) -> tuple[str, ...]:
    """The lines of `unserved_fields` without which nothing may be built."""
    return tuple(line for line, field in _unserved(spec) if field.essential)


def _unserved(spec: ClusterSpec) -> Iterator[tuple[str, NotServed]]:
    for field in NOT_SERVED:
        for location, value in values_at(spec, field.path.removeprefix("spec.")):
            path = f"spec.{location}"
            if field.is_requested(value):
                separator = ":" if field.message.startswith("only") else ""
                yield f"{path}{separator} {field.message}", field
