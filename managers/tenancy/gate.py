"""Gates: each decides whether a cluster may be reconciled yet.

In multi-tenant mode the provisioner grants RBAC first and then records it in the status of the
OpenBaoTenant. TenantGate reads that status from the cache and sends no request. Without it, the API
server would deny the requests of a reconcile that starts too early. ReadGate waits for caches.
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
"""Takes a live cluster; returns the reason to wait, or None if it may be reconciled."""

digest_of = memoize(lambda live: access_of(live).digest)


class Tenants(Protocol):
    """The methods of a cache of OpenBaoTenants that are used here."""

    def by_index(self, name: str, value: str) -> list[Object]: ...

    def add_index(self, name: str, fn: Callable[[Object], Iterable[str]], /) -> None: ...


def target_of(tenant: Object) -> str:
    """Return the target namespace of a tenant; "" for none."""
    spec = tenant.get("spec")
    target = spec.get("targetNamespace") if isinstance(spec, dict) else None
    return target if isinstance(target, str) else ""


def by_target(tenant: Object) -> Iterable[str]:
    """Index function: the target namespace of a tenant."""
    target = target_of(tenant)
    return (target,) if target else ()


def open_gate(_: Object) -> None:
    """Admit every cluster: for modes whose caches are complete from the start."""


class TenantGate:
    """Admits clusters whose namespace is provisioned and whose Secrets may be read."""

    def __init__(self, tenants: Tenants) -> None:
        self._tenants = tenants
        tenants.add_index(TARGET_INDEX, by_target)

    def __call__(self, live: Object) -> Wait | None:
        """Check one cluster."""
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
        """Return whether a tenant has provisioned this namespace."""
        return self._grants(namespace) is not None

    def _grants(self, namespace: str) -> dict[str, tuple[str, ...]] | None:
        """Return the granted digests by name of the cluster; None without a provisioned tenant."""
        tenants = self._tenants.by_index(TARGET_INDEX, namespace)
        ready = [tenant for tenant in tenants if _is_ready(tenant)]
        if not ready:
            return None
        granted: dict[str, tuple[str, ...]] = {}
        for tenant in ready:
            for name, secrets in _granted_secrets(tenant):
                granted[name] = (*granted.get(name, ()), secrets)
        return granted


class ReadGate:
    """Admits clusters whose namespace is in the caches."""

    def __init__(self, is_ready: Callable[[str], bool]) -> None:
        self._is_ready = is_ready

    def __call__(self, live: Object) -> Wait | None:
        """Check one cluster."""
        namespace = key_of(live).namespace
        if self._is_ready(namespace):
            return None
        return Wait(READING, f"the caches have not read the objects of namespace {namespace} yet")


def all_of(*gates: Gate) -> Gate:
    """Combine gates; the result is that of the first gate that makes a cluster wait."""

    def combined(live: Object) -> Wait | None:
        return next((wait for gate in gates if (wait := gate(live)) is not None), None)

    return combined


def _is_ready(tenant: Object) -> bool:
    return _status(tenant).get("provisioned") is True and not (
        # Its finalizer removes the RBAC when no cluster is left.
        is_terminating(tenant) and not _status(tenant).get("grants")
    )


def _granted_secrets(tenant: Object) -> Iterable[tuple[str, str]]:
    for grant in _status(tenant).get("grants") or ():
        if isinstance(grant, dict):
            yield str(grant.get("cluster")), str(grant.get("secrets"))


def _status(tenant: Object) -> dict[str, Any]:
    status = tenant.get("status")
    return status if isinstance(status, dict) else {}
