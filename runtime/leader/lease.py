"""The record that leader election keeps in a Lease (coordination.k8s.io/v1).

Pure. Called by runtime.leader.leader only.
"""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from runtime.builtin_kinds import LEASE
from runtime.types import Object, ObjectKey


def spec_of(lease: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The record; empty if there is none."""
    spec: Mapping[str, Any] = (lease or {}).get("spec") or {}
    return spec


def holder_of(lease: Mapping[str, Any] | None) -> str:
    """The identity of the holder, "" for none."""
    return spec_of(lease).get("holderIdentity") or ""


def transitions_of(lease: Mapping[str, Any] | None) -> int:
    """How often the holder has changed."""
    return int(spec_of(lease).get("leaseTransitions") or 0)


def duration_of(lease: Mapping[str, Any] | None) -> float:
    """For how many seconds after a change the lease belongs to its holder."""
    return float(spec_of(lease).get("leaseDurationSeconds") or 0)


def take_lease(lease: Object | None, identity: str, seconds: float, now: datetime) -> Object:
    """The record, held by that identity for that many seconds from now.

    The API has whole seconds: they are rounded up. A renewal keeps acquireTime and
    leaseTransitions.
    """
    mine = holder_of(lease) == identity
    stamp = _micro_time(now)
    return {
        **spec_of(lease),
        "holderIdentity": identity,
        "leaseDurationSeconds": math.ceil(seconds),
        "acquireTime": (spec_of(lease).get("acquireTime") or stamp) if mine else stamp,
        "renewTime": stamp,
        "leaseTransitions": transitions_of(lease) + (1 if spec_of(lease) and not mine else 0),
    }


def release_lease(lease: Object, now: datetime) -> Object:
    """The record without a holder. The least duration that the server accepts is one second."""
    return {
        **spec_of(lease),
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "renewTime": _micro_time(now),
    }


def with_spec(lease: Object | None, key: ObjectKey, spec: Object) -> Object:
    """The body of a write: the lease that was read, with our name and another record."""
    current: Object = lease or {}
    named = {"namespace": key.namespace, "name": key.name}
    return {
        **current,
        "apiVersion": LEASE.api_version,
        "kind": LEASE.kind,
        "metadata": {**(current.get("metadata") or {}), **named},
        "spec": spec,
    }


def _micro_time(moment: datetime) -> str:
    """The MicroTime of the Kubernetes API: UTC with exactly six digits."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
