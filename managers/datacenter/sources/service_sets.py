"""BootstrapServiceSets as sources: each one is a hook that is built in.

Uses contracts.datacenter and managers.datacenter.sources.registry. SetHandler is hung onto an
informer of BootstrapServiceSets by whoever composes the process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from contracts.datacenter.objects import (
    BootstrapServiceSet,
    DatacenterSelector,
    InvalidDatacenterError,
)
from contracts.datacenter.rules.all_rules import read_services
from contracts.datacenter.service_spec import BootstrapService
from contracts.datacenter.workload_records import DatacenterInfo
from managers.datacenter.sources.hooks import HookContext, SourceError
from managers.datacenter.sources.merge import SET_PREFIX
from managers.datacenter.sources.registry import SourceRegistry
from runtime.types import Object, ObjectKey, key_of

FIELD: Final = "spec.services"
EVERY: Final = DatacenterSelector()
"""Selects every datacenter."""


@dataclass(frozen=True, slots=True)
class SetHook:
    """A set that answers for the datacenters of its selector. With an error, it fails for all."""

    name: str
    priority: int = 0
    selector: DatacenterSelector = EVERY
    bodies: tuple[BootstrapService, ...] = ()
    error: str = ""

    async def services(
        self, ctx: HookContext, datacenter: DatacenterInfo
    ) -> tuple[BootstrapService, ...]:
        """Return the services for a datacenter that is selected; raises SourceError."""
        if self.error:
            raise SourceError(self.error)
        return self.bodies if selects(self.selector, datacenter) else ()


def read_set(obj: Object) -> SetHook:
    """Read a BootstrapServiceSet; one that breaks a rule becomes a hook that says so."""
    name = key_of(obj).name
    try:
        spec = BootstrapServiceSet.from_object(obj).spec
        return SetHook(name, spec.priority, spec.selector, read_services(spec.services, FIELD))
    except InvalidDatacenterError as error:
        return SetHook(name, error=f"BootstrapServiceSet {name}: {error}")


def selects(selector: DatacenterSelector, datacenter: DatacenterInfo) -> bool:
    """Tell whether a datacenter is one of those that are selected; nothing named means all."""
    named: tuple[tuple[Collection[str], str], ...] = (
        (selector.providers, datacenter.provider),
        (selector.regions, datacenter.region),
        (selector.zones, datacenter.zone),
    )
    return all(not allowed or value in allowed for allowed, value in named) and (
        selector.labels.items() <= datacenter.labels.items()
    )


class SetHandler:
    """Keeps a registry equal to what an informer of BootstrapServiceSets holds.

    A set that the informer does not hold is gone, and its services retire: nobody merges before the
    informer is synced. `current` looks an object up in it.
    """

    def __init__(
        self, registry: SourceRegistry, current: Callable[[ObjectKey], Object | None]
    ) -> None:
        self._registry, self._current = registry, current

    def on_add(self, obj: Object, initial: bool) -> None:
        """Register it."""
        self._registry.register(read_set(obj), SET_PREFIX)

    def on_update(self, old: Object, new: Object) -> None:
        """Register it anew, which is no news when its spec says the same."""
        self._registry.register(read_set(new), SET_PREFIX)

    def on_delete(self, obj: Object) -> None:
        """Unregister it, unless another one of its name is there, whose services go on."""
        successor = self._current(key_of(obj))
        if successor is not None:
            self._registry.register(read_set(successor), SET_PREFIX)
        else:
            self._registry.unregister(key_of(obj).name, SET_PREFIX)

    def on_resync(self, obj: Object) -> None:
        """Register it again, should it ever have been lost."""
        self._registry.register(read_set(obj), SET_PREFIX)
