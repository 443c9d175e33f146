"""Whether a cluster may be worked on now: multi-tenant mode begins no pass without its rights.

The provisioner grants first and then says so in the status of the OpenBaoTenant; here that is read.
No request is made, and none is made in vain: a pass that started too early would be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from contracts.tenancy import access_of
from runtime.memo import memoize
from runtime.outcome import Wait
from runtime.types import Object, is_terminating, key_of

TARGET_INDEX = "target-namespace"
NOT_PROVISIONED = "TenantNotProvisioned"
ACCESS_PENDING = "SecretAccessPending"
READING = "NamespaceNotRead"

Gate = Callable[[Object], Wait | None]
"""Takes a live cluster; tells what it has to wait for, None when it may be worked on."""

digest_of = memoize(lambda live: access_of(live).digest)


class Tenants(Protocol):
    """The part of a cache of OpenBaoTenants that is read."""

    def by_index(self, name: str, value: str) -> list[Object]: ...

    def add_index(self, name: str, fn: Callable[[Object], Iterable[str]], /) -> None: ...


def target_of(tenant: Object) -> str:
    """Read the namespace that a tenant is about; "" for none."""
    spec = tenant.get("spec")
    target = spec.get("targetNamespace") if isinstance(spec, dict) else None
    return target if isinstance(target, str) else ""


def by_target(tenant: Object) -> Iterable[str]:
    """Index function: the namespace that a tenant is about."""
    target = target_of(tenant)
    return (target,) if target else ()


def open_gate(_: Object) -> None:
    """Let every cluster by: of modes that read all that they look at from the start."""


class TenantGate:
    """Lets clusters by whose namespace is provisioned and whose Secrets may be read."""

    def __init__(self, tenants: Tenants) -> None:
        self._tenants = tenants
        tenants.add_index(TARGET_INDEX, by_target)

    def __call__(self, live: Object) -> Wait | None:
        """Judge one cluster."""
        key = key_of(live)
        grants = self._grants(key.namespace)
        if grants is None:
            message = f"no OpenBaoTenant has provisioned namespace {key.namespace}"
            return Wait(NOT_PROVISIONED, message)
        if digest_of(live) not in grants.get(key.name, ()):
            message = "the provisioner has not granted access to the Secrets of this cluster yet"
            return Wait(ACCESS_PENDING, message)
        return None

    def is_provisioned(self, namespace: str) -> bool:
        """Whether a tenant says that this namespace is ready for clusters."""
        return self._grants(namespace) is not None

    def _grants(self, namespace: str) -> dict[str, tuple[str, ...]] | None:
        """The digests that were granted, by name of the cluster; None where nothing is."""
        ready = [one for one in self._tenants.by_index(TARGET_INDEX, namespace) if _is_ready(one)]
        if not ready:
            return None
        granted: dict[str, tuple[str, ...]] = {}
        for tenant in ready:
            for name, secrets in _granted(tenant):
                granted[name] = (*granted.get(name, ()), secrets)
        return granted


class ReadGate:
    """Lets clusters by whose namespace is in the caches."""

    def __init__(self, is_ready: Callable[[str], bool]) -> None:
        self._is_ready = is_ready

    def __call__(self, live: Object) -> Wait | None:
        """Judge one cluster."""
        namespace = key_of(live).namespace
        if self._is_ready(namespace):
            return None
        return Wait(READING, f"the objects of namespace {namespace} are being read")


def all_of(*gates: Gate) -> Gate:
    """Ask one gate after the other; the first that holds a cluster back speaks."""

    def judge(live: Object) -> Wait | None:
        return next((wait for gate in gates if (wait := gate(live)) is not None), None)

    return judge


def _is_ready(tenant: Object) -> bool:
    return _status(tenant).get("provisioned") is True and not (
        # Its rights go once nothing is left that needs them: see the finalizer of a tenant.
        is_terminating(tenant) and not _status(tenant).get("grants")
    )


def _granted(tenant: Object) -> Iterable[tuple[str, str]]:
    for grant in _status(tenant).get("grants") or ():
        if isinstance(grant, dict):
            yield str(grant.get("cluster")), str(grant.get("secrets"))


def _status(tenant: Object) -> dict[str, Any]:
    status = tenant.get("status")
    return status if isinstance(status, dict) else {}
