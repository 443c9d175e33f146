"""Converts service records to BootstrapWorkloads and back. Pure.

Uses contracts.datacenter. Called by managers.datacenter.store.kubernetes and
baoctl.commands.datacenter.status. Every implementation of a store uses `with_current_state`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, Literal, get_args

from pydantic import ValidationError

from contracts.api.cluster.status_errors import LastError
from contracts.api.group import API_VERSION
from contracts.api.meta import Condition
from contracts.api.violation import Violation
from contracts.conditions.message import clean_message
from contracts.datacenter import names
from contracts.datacenter.kinds import DATACENTER_KIND, WORKLOAD_KIND
from contracts.datacenter.objects import KUBERNETES, InvalidDatacenterError
from contracts.datacenter.service_spec import BootstrapService, Kind, ServiceParser
from contracts.datacenter.workload import (
    REFS_MAX,
    BootstrapWorkload,
    BootstrapWorkloadStatus,
    ServiceRef,
    WorkloadSource,
    WorkloadSpec,
)
from contracts.datacenter.workload_records import (
    DatacenterInfo,
    DesiredService,
    Failure,
    ServiceProgress,
    ServiceRecord,
    ServiceSource,
)
from contracts.naming import labels
from managers.datacenter.backoff import FORBIDDEN, REASON_MAX
from runtime.apply.ownership import Owner
from runtime.types import (
    Object,
    controller_of,
    is_terminating,
    key_of,
    labels_of,
    resource_version_of,
    uid_of,
)

NAME_MAX: Final = 253
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?")
ConditionStatus = Literal["True", "False", "Unknown"]


def body_of(datacenter: DatacenterInfo, desired: DesiredService) -> Object:
    """Build the BootstrapWorkload of a new record: owned by its Datacenter, with our finalizer."""
    owner = Owner(API_VERSION, DATACENTER_KIND, "", datacenter.name, datacenter.uid)
    return {
        "apiVersion": API_VERSION,
        "kind": WORKLOAD_KIND,
        "metadata": {
            "name": names.workload_name(datacenter.name, desired.name),
            "labels": {
                labels.MANAGED_BY: labels.OPERATOR,
                **names.selector_labels(datacenter.name, desired.name),
            },
            "ownerReferences": [owner.reference()],
            "finalizers": [names.WORKLOAD_FINALIZER],
        },
        "spec": spec_of(datacenter, desired),
    }


def spec_of(datacenter: DatacenterInfo, desired: DesiredService) -> Object:
    """Build the spec of a BootstrapWorkload."""
    spec = WorkloadSpec(
        datacenter=datacenter.name,
        namespace=datacenter.namespace,
        provider=datacenter.provider,
        source=WorkloadSource(name=desired.source.name, priority=desired.source.priority),
        service=desired.service,
        digest=desired.digest,
        redeploy=desired.redeploy,
    )
    return spec.to_object()


def record_of(
    obj: Object, requested: DatacenterInfo | None = None, parse: ServiceParser | None = None
) -> ServiceRecord:
    """Parse a BootstrapWorkload; `requested` is its current datacenter.

    `parse` parses the body of its service, and may return a cached one.

    Raises InvalidDatacenterError, with a Violation per field. An invalid object that is being
    deleted is read from its metadata, so that its objects can be removed.
    """
    try:
        read = BootstrapWorkload.from_object(obj, parse)
    except InvalidDatacenterError:
        if not is_terminating(obj):
            raise
        with suppress(ValidationError):
            fallback = _fallback_record(obj, requested)
            if names.workload_name(fallback.datacenter.name, fallback.name) == key_of(obj).name:
                return fallback
        raise
    name = names.workload_name(read.spec.datacenter, read.spec.service.name)
    if read.metadata.name != name:
        message = f"must be {name}, as in its spec; delete it, and the operator creates another one"
        raise InvalidDatacenterError(
            [Violation("metadata.name", read.metadata.name, "workload-name", message)]
        )
    spec = read.spec
    stored = DatacenterInfo(spec.datacenter, _owner_uid(obj), spec.namespace, spec.provider)
    source = ServiceSource(spec.source.name, spec.source.priority)
    datacenter = with_current_state(stored, requested, provisioned=bool(read.status.provider_ref))
    record = _record(
        obj, datacenter, DesiredService(spec.service, source, spec.redeploy), read.status
    )
    return replace(record, provider_changed=datacenter.provider != stored.provider)


def with_current_state(
    stored: DatacenterInfo, requested: DatacenterInfo | None, *, provisioned: bool
) -> DatacenterInfo:
    """Combine the stored datacenter of a record with its current state.

    The namespace of a record never changes. Its provider is fixed once the record is `provisioned`;
    until then, a changed provider of the datacenter applies.
    """
    if requested is None or requested.name != stored.name:
        return stored
    uid, provider = (
        stored.uid or requested.uid,
        stored.provider if provisioned else requested.provider,
    )
    return replace(requested, uid=uid, namespace=stored.namespace, provider=provider)


def progress_from(status: BootstrapWorkloadStatus) -> ServiceProgress:
    """Return the progress of a record from its status."""
    error = status.last_error
    failure = None if error is None else Failure(error.reason, error.message, error.at or _LONG_AGO)
    return ServiceProgress(
        state=status.state,
        message=status.message,
        digest=status.digest,
        attempts=status.attempts,
        next_retry=status.next_retry_time,
        failure=failure,
        running_since=status.running_since,
        ready=status.ready,
        provider_ref=status.provider_ref,
        service_refs=tuple(
            sorted((service_ref.name, service_ref.ref) for service_ref in status.service_refs)
        ),
    )


def status_of(
    live: Object, record: ServiceRecord, progress: ServiceProgress, now: datetime
) -> BootstrapWorkloadStatus:
    """Build the status of a record; the transition time of a condition changes with its status."""
    failure = progress.failure
    error = None
    if failure is not None:
        reason, message = failure.reason[:REASON_MAX], clean_message(failure.message)
        error = LastError(reason=reason, message=message, at=failure.at)
    refs = dict(progress.service_refs)
    return BootstrapWorkloadStatus(
        observed_generation=_generation(live),
        state=progress.state,
        message=clean_message(progress.message),
        digest=progress.digest,
        attempts=progress.attempts,
        next_retry_time=progress.next_retry,
        last_error=error,
        running_since=progress.running_since,
        ready=progress.ready[:32],
        provider_ref=progress.provider_ref[:NAME_MAX],
        service_refs=tuple(
            ServiceRef(name=name[:NAME_MAX], ref=ref[:NAME_MAX])
            for name, ref in sorted(refs.items())[:REFS_MAX]
        ),
        conditions=_conditions(live, record, progress, now),
    )


def _record(
    obj: Object,
    datacenter: DatacenterInfo,
    desired: DesiredService,
    status: BootstrapWorkloadStatus,
) -> ServiceRecord:
    return ServiceRecord(
        id=uid_of(obj),
        datacenter=datacenter,
        desired=desired,
        progress=progress_from(status),
        retiring=is_terminating(obj),
        version=resource_version_of(obj),
    )


def _fallback_record(obj: Object, requested: DatacenterInfo | None) -> ServiceRecord:
    """Return a record of an object with an invalid spec, sufficient to remove it.

    Raises ValidationError if its name is invalid.
    """
    spec, object_labels, name = _map(obj.get("spec")), labels_of(obj), key_of(obj).name
    body = _map(spec.get("service"))
    stored = DatacenterInfo(
        name=object_labels.get(names.DATACENTER) or name.rpartition(".")[0],
        uid=_owner_uid(obj),
        namespace=_text(spec.get("namespace")) or (requested.namespace if requested else ""),
        provider=_text(spec.get("provider")) or (requested.provider if requested else KUBERNETES),
    )
    service = BootstrapService.model_validate(
        {
            "name": object_labels.get(names.BOOTSTRAP) or name.rpartition(".")[2],
            **{
                field: body[field]
                for field, values in _DELETION_FIELDS.items()
                if body.get(field) in values
            },
        }
    )
    desired = DesiredService(service, ServiceSource(_text(_map(spec.get("source")).get("name"))))
    status = BootstrapWorkloadStatus.lenient(obj.get("status"))
    return _record(obj, with_current_state(stored, requested, provisioned=True), desired, status)


def _map(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _owner_uid(obj: Object) -> str:
    owner = controller_of(obj)
    return owner.uid if owner is not None and owner.kind == DATACENTER_KIND else ""


def _generation(live: Object) -> int:
    return int((live.get("metadata") or {}).get("generation") or 0)


def _conditions(
    live: Object, record: ServiceRecord, progress: ServiceProgress, now: datetime
) -> tuple[Condition, ...]:
    stored = BootstrapWorkloadStatus.lenient(live.get("status")).conditions
    before = {condition.type: condition for condition in stored}
    message = clean_message(progress.message or _DEFAULT_MESSAGES[progress.state])
    conditions_of = (
        ("Ready", *_ready(record, progress)),
        ("Stalled", *_stalled_condition(progress)),
    )
    conditions = []
    for kind, status, reason in conditions_of:
        old = before.get(kind)
        since = old.last_transition_time if old is not None and old.status == status else None
        conditions.append(
            Condition(
                type=kind,
                status=status,
                reason=reason if _REASON.fullmatch(reason) else "Failed",
                message=message,
                observed_generation=_generation(live),
                last_transition_time=since or now.replace(microsecond=0),
            )
        )
    return tuple(conditions)


def _ready(record: ServiceRecord, progress: ServiceProgress) -> tuple[ConditionStatus, str]:
    if record.datacenter.state == "Offline":
        return "Unknown", "Offline"
    if progress.state == "Running":
        return "True", "Running"
    failed = progress.failure is not None and progress.state == "Failed"
    return "False", progress.failure.reason if failed and progress.failure else progress.state


def _stalled_condition(progress: ServiceProgress) -> tuple[ConditionStatus, str]:
    failure = progress.failure
    if failure is None or progress.state not in ("Failed", "Retiring"):
        return "False", progress.state
    blocked = progress.next_retry is None or failure.reason == FORBIDDEN
    return ("True", failure.reason) if blocked else ("False", progress.state)


_DEFAULT_MESSAGES: Final = {
    "Pending": "No object was created yet.",
    "Provisioning": "It is being created or updated.",
    "Running": "It is up to date and healthy.",
    "Failed": "The last attempt failed.",
    "Retiring": "It is being deleted.",
    "Retired": "All of its objects are deleted.",
}
_DELETION_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "kind": get_args(Kind),
    "deletionPolicy": ("Delete", "Orphan"),
    "volumePolicy": ("Retain", "Delete"),
}
"""Fields of a body that affect the deletion of its objects, with their valid values."""
