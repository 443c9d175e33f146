"""`baoctl datacenter redeploy`: requests the replacement of the pods of one service.

Uses runtime.client.client. Called by baoctl.verbs.datacenter. The request is an entry of
spec.redeploy of the Datacenter. The operator replaces the pods when the token of the entry changes;
the entry may then stay in the spec.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any, Final

from baoctl.commands.api_client import FIELD_MANAGER, RequestError, Session, run_in_session
from baoctl.commands.datacenter.status import find, format_names
from baoctl.commands.preconditions import version_precondition
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from contracts.conditions.message import clean_message
from contracts.datacenter import names
from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from contracts.datacenter.names import NAME_PATTERN
from runtime.client.client import Client
from runtime.client.listing import ListOptions
from runtime.clock import Clock
from runtime.errors import Conflict, NotFound, PatchFailed, TransportError
from runtime.types import Object, ObjectKey, is_terminating, key_of

if TYPE_CHECKING:
    from contracts.datacenter.objects import RedeployRequest

ATTEMPTS_MAX: Final = 5
"""Attempts to write a request while other clients change the Datacenter."""
_SUSPENDED: Final = ("Maintenance", "Offline")


@dataclass(frozen=True, slots=True)
class RedeployResult:
    """A request in spec.redeploy."""

    datacenter: str
    service: str
    token: str
    before: str
    """The token of the previous request; "" if there was none."""
    state: str
    """spec.state of the datacenter."""
    written: bool
    """False if the spec already had this request."""


def redeploy(target: str, token: str | None, access: Access) -> str:
    """Write a request, and return the result. Raises RequestError.

    `target` is datacenter/service; the default token is the current time.
    """

    async def run(api: Session) -> RedeployResult:
        return await request_redeploy(api.client, api.clock, target, token)

    return summary(run_in_session("datacenter-redeploy", run, access))


async def request_redeploy(
    client: Client, clock: Clock, target: str, token: str | None
) -> RedeployResult:
    """Write a request. Raises RequestError, and the errors of the client."""
    datacenter, slash, service = target.partition("/")
    if not slash or not re.fullmatch(NAME_PATTERN, service):
        raise RequestError(
            f"{target!r}: must be DC/SERVICE, such as fra1/log-shipper", ExitCode.USAGE
        )
    live = await find(client, datacenter)
    request = _request(service, _default_token(clock) if token is None else token)
    await _expect_workload(client, datacenter, service)
    before = _token_of(live, service)
    for _ in range(ATTEMPTS_MAX):
        ops = ops_of(live, request)
        if ops:
            try:
                live = await client.json_patch(
                    DATACENTERS, key_of(live), ops, field_manager=FIELD_MANAGER
                )
            except (Conflict, PatchFailed, TransportError):
                # After a lost response, the next read shows whether the patch was applied.
                live = await find(client, datacenter)
                continue
        state = str((live.get("spec") or {}).get("state") or "Active")
        return RedeployResult(
            datacenter, service, request.token, before, state, before != request.token
        )
    raise RequestError(
        f"Datacenter {datacenter}: other clients changed it during {ATTEMPTS_MAX} attempts; try "
        "again"
    )


def ops_of(live: Object, request: RedeployRequest) -> Sequence[Object]:
    """Return the JSON patch that adds a request to this version; empty if it has the request.

    Raises RequestError if the datacenter is being deleted, or the list is full.
    """
    from contracts.datacenter.objects import SERVICES_MAX

    name = key_of(live).name
    if is_terminating(live):
        raise RequestError(
            f"Datacenter {name} and its services are being deleted", ExitCode.REFUSED
        )
    requests = _requests(live)
    index = next((at for at, item in enumerate(requests) if item.get("name") == request.name), None)
    entry: Object = request.to_object()
    if index is not None and requests[index] == entry:
        return ()
    if index is None and len(requests) >= SERVICES_MAX:
        raise RequestError(
            f"spec.redeploy of Datacenter {name} has {len(requests)} requests, the maximum is "
            f"{SERVICES_MAX}: remove completed ones",
            ExitCode.REFUSED,
        )
    change: Object
    if index is not None:
        change = {"op": "replace", "path": f"/spec/redeploy/{index}", "value": entry}
    elif requests:
        change = {"op": "add", "path": "/spec/redeploy/-", "value": entry}
    else:
        change = {"op": "add", "path": "/spec/redeploy", "value": [entry]}
    return (
        *version_precondition(live),
        change,
    )


def summary(result: RedeployResult) -> str:
    """Return the result and the next step, on one line."""
    return clean_message(_summary(result))


def _summary(result: RedeployResult) -> str:
    target = f"{result.datacenter}/{result.service}"
    if not result.written:
        return (
            f"{target}: the request {result.token} already exists; nothing was changed. "
            "To replace the pods again, use another --token."
        )
    before = f" (previous: {result.before})" if result.before else ""
    suspended = result.state in _SUSPENDED
    condition = f" once spec.state is no longer {result.state}" if suspended else ""
    return (
        f"{target}: requested with token {result.token}{before}. Its pods are replaced{condition}; "
        f"follow it with: baoctl datacenter status {result.datacenter} --until-ready"
    )


def _request(service: str, token: str) -> RedeployRequest:
    # Imported after the first request, because it imports the models.
    from pydantic import ValidationError

    from contracts.datacenter.objects import RedeployRequest

    try:
        return RedeployRequest(name=service, token=token)
    except ValidationError as error:
        text = "; ".join(f"{part['loc'][0]}: {part['msg']}" for part in error.errors())
        raise RequestError(f"{service} with token {token[:40]!r}: {text}", ExitCode.USAGE) from None


def _default_token(clock: Clock) -> str:
    now = clock.now().astimezone(UTC)
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _requests(live: Object) -> list[Object]:
    requests: Any = (live.get("spec") or {}).get("redeploy")
    return requests if isinstance(requests, list) else []


def _token_of(live: Object, service: str) -> str:
    return next(
        (str(entry.get("token")) for entry in _requests(live) if entry.get("name") == service), ""
    )


async def _expect_workload(client: Client, datacenter: str, service: str) -> None:
    key = ObjectKey("", names.workload_name(datacenter, service))
    try:
        workload = await client.get(WORKLOADS, key, metadata_only=True)
    except NotFound:
        services = await _services_of(client, datacenter)
        existing = f", only {services}" if services else "; it has no services"
        raise RequestError(
            f"there is no service {service} in Datacenter {datacenter}{existing}",
            ExitCode.NOT_FOUND,
        ) from None
    if is_terminating(workload):
        raise RequestError(
            f"service {service} of Datacenter {datacenter} is being deleted", ExitCode.REFUSED
        )


async def _services_of(client: Client, datacenter: str) -> str:
    by_datacenter = ListOptions(
        label_selector=f"{names.DATACENTER}={datacenter}", metadata_only=True
    )
    workloads = await client.list(WORKLOADS, options=by_datacenter)
    prefix = names.workload_name(datacenter, "")
    return format_names(key_of(workload).name.removeprefix(prefix) for workload in workloads.items)
