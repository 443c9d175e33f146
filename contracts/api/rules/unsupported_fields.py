"""Fields that the schema accepts and this version does not support.

Uses contracts.api.cluster.spec. Called by managers.cluster.status, which reports them in the
condition UnsupportedFields, and by contracts.spec_refusal, which refuses a spec with an essential
one: an unsupported field is never silently ignored. A change that implements a field deletes its
entry.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from contracts.api.cluster.spec import ClusterSpec
from contracts.api.values.field_path import values_at

Requests = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class NotServed:
    """A field that is not supported.

    `essential`: a cluster without it would be less safe than requested, or could not be repaired
    after its first boot, so the operator must not create it. `is_requested` returns whether the
    value requests the unsupported feature; absent, false, 0 and "" do not.
    """

    path: str
    message: str
    essential: bool = False
    is_requested: Requests = bool


def _unless(served: Any) -> Requests:
    return lambda value: value is not None and value != served


_LATER = "is not supported by this version"
_NO_CLUSTER = "has no effect: a restore test starts a server in the pod of its Job, not a cluster"
_NO_SETTING = "has no effect: the server has no such setting"

NOT_SERVED: tuple[NotServed, ...] = (
    NotServed(
        "spec.selfInit.oidc.policyApproverRef",
        "has no effect: the operator's policies never change after the first boot",
    ),
    NotServed("spec.unseal.kmip.tlsSkipVerify", _NO_SETTING),
    NotServed("spec.unseal.ocikms.compartmentID", _NO_SETTING),
    NotServed("spec.unseal.pkcs11.hmacKeyLabel", _NO_SETTING),
    NotServed(
        "spec.unseal.pkcs11.generateKey", "has no effect: the key must exist before the first start"
    ),
    NotServed("spec.unseal.pkcs11.rsaEncryptLocal", "was renamed to disableSoftwareEncryption"),
    NotServed(
        "spec.backup.target.gcs.project", "is not needed: the name of a bucket is globally unique"
    ),
    NotServed("spec.backup.restoreTest.cleanupAfterSeconds", _NO_CLUSTER),
    NotServed("spec.backup.restoreTest.clusterTemplate", _NO_CLUSTER),
    NotServed("spec.backup.restoreTest.credentialsSecretRef", _NO_CLUSTER),
    NotServed("spec.backup.restoreTest.namespace", _NO_CLUSTER),
    NotServed("spec.controllerJWTMode", "only Shared is supported", True, _unless("Shared")),
    NotServed("spec.reconcilePolicies", _LATER),
)


def unserved_fields(spec: ClusterSpec) -> tuple[str, ...]:
    """Return a line per unsupported field, such as "spec.x is not supported by this version"."""
    return tuple(line for line, _ in _requested_fields(spec))


def essential_unserved_fields(spec: ClusterSpec) -> tuple[str, ...]:
    """Return the lines of `unserved_fields` about essential fields."""
    return tuple(line for line, field in _requested_fields(spec) if field.essential)


def _requested_fields(spec: ClusterSpec) -> Iterator[tuple[str, NotServed]]:
    for field in NOT_SERVED:
        for location, value in values_at(spec, field.path.removeprefix("spec.")):
            path = f"spec.{location}"
            if field.is_requested(value):
                separator = ":" if field.message.startswith("only") else ""
                yield f"{path}{separator} {field.message}", field
