"""Dispatches services of this Kubernetes cluster to the provider of their kind.

Uses managers.datacenter.provider.kubernetes for workloads and OpenBaoClusters, and other_kinds for
services of kind Objects. Called by managers.datacenter.lifecycle.driver.
"""

from __future__ import annotations

from contracts.datacenter.service_spec import OBJECTS_KIND
from contracts.datacenter.workload_records import Observation, ServiceRecord, Vault
from managers.datacenter.interfaces import Provider, ProviderError
from managers.datacenter.provider.other_kinds import ObjectsProvider


class ServicesProvider:
    """Implements managers.datacenter.interfaces.Provider for all kinds of services."""

    def __init__(self, workloads: Provider, others: ObjectsProvider) -> None:
        self._workloads = workloads
        self._others = others

    @property
    def name(self) -> str:
        """The value of spec.provider of a Datacenter that selects this provider."""
        return self._workloads.name

    async def observe(self, record: ServiceRecord) -> Observation:
        """Read the state of the service; after a change of its kind, return only that it exists."""
        if _is_kind_changed(record):
            # Keep the references: provider_ref is the only record of the provider of the objects.
            progress = record.progress
            return Observation(
                present=True,
                provider_ref=progress.provider_ref,
                service_refs=progress.service_refs,
            )
        if _is_objects(record):
            return await self._others.observe(record)
        return await self._workloads.observe(record)

    async def provision(self, record: ServiceRecord, vaults: tuple[Vault, ...]) -> None:
        """Create or update all objects; raises the errors of both providers, and KindImmutable."""
        if _is_kind_changed(record):
            message = (
                f"kind {record.desired.service.kind}: a service cannot change from or to kind "
                f"{OBJECTS_KIND}; revert the kind, or remove the service and add it again after "
                "its removal"
            )
            raise ProviderError("KindImmutable", message, terminal=True)
        if _is_objects(record):
            await self._others.provision(record)
        else:
            await self._workloads.provision(record, vaults)

    async def deprovision(self, record: ServiceRecord) -> bool:
        """Delete the objects of the record; True once all of them are gone."""
        if _has_objects(record):
            return await self._others.deprovision(record)
        return await self._workloads.deprovision(record)


def _is_objects(record: ServiceRecord) -> bool:
    return record.desired.service.kind == OBJECTS_KIND


def _is_kind_changed(record: ServiceRecord) -> bool:
    return _has_objects(record) != _is_objects(record)


def _has_objects(record: ServiceRecord) -> bool:
    """Return whether the existing objects are of kind Objects; if none exist, check the spec."""
    ref = record.progress.provider_ref
    return ref.startswith(f"{OBJECTS_KIND} ") if ref else _is_objects(record)
