"""BootstrapServiceSets as sources: each one is a built-in hook.

Uses contracts.datacenter and managers.datacenter.sources.registry. baoctl.controllers.datacenter
adds SetHandler to an informer of BootstrapServiceSets.
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
    """A BootstrapServiceSet as a hook for the selected datacenters. An invalid set always fails."""

    name: str
    priority: int = 0
    selector: DatacenterSelector = EVERY
    bodies: tuple[BootstrapService, ...] = ()
    error: str = ""

    async def services(
        self, ctx: HookContext, datacenter: DatacenterInfo
    ) -> tuple[BootstrapService, ...]:
        """Return the services for a selected datacenter; raises SourceError."""
        if self.error:
            raise SourceError(self.error)
        return self.bodies if selects(self.selector, datacenter) else ()


def read_set(obj: Object) -> SetHook:
    """Parse a BootstrapServiceSet; an invalid one becomes a hook that raises the error."""
    name = key_of(obj).name
    try:
        spec = BootstrapServiceSet.from_object(obj).spec
        return SetHook(name, spec.priority, spec.selector, read_services(spec.services, FIELD))
    except InvalidDatacenterError as error:
        return SetHook(name, error=f"BootstrapServiceSet {name}: {error}")


def selects(selector: DatacenterSelector, datacenter: DatacenterInfo) -> bool:
    """Return whether a datacenter is selected; an empty list selects all."""
    requirements: tuple[tuple[Collection[str], str], ...] = (
        (selector.providers, datacenter.provider),
        (selector.regions, datacenter.region),
        (selector.zones, datacenter.zone),
    )
    return all(not allowed or value in allowed for allowed, value in requirements) and (
        selector.labels.items() <= datacenter.labels.items()
    )


class SetHandler:
    """Event handler that keeps a registry in sync with an informer of BootstrapServiceSets.

    The services of a set that is not in the informer are retired, because sources are merged only
    after the informer is synced. `current` reads an object from the informer.
    """

    def __init__(
        self, registry: SourceRegistry, current: Callable[[ObjectKey], Object | None]
    ) -> None:
        self._registry, self._current = registry, current

    def on_add(self, obj: Object, initial: bool) -> None:
        """Register the set."""
        self._registry.register(read_set(obj), SET_PREFIX)

    def on_update(self, old: Object, new: Object) -> None:
        """Register the set again; no effect if its spec is unchanged."""
        self._registry.register(read_set(new), SET_PREFIX)

    def on_delete(self, obj: Object) -> None:
        """Unregister the set, unless it was recreated in the meantime."""
        successor = self._current(key_of(obj))
        if successor is not None:
            self._registry.register(read_set(successor), SET_PREFIX)
        else:
            self._registry.unregister(key_of(obj).name, SET_PREFIX)

    def on_resync(self, obj: Object) -> None:
        """Register the set again, in case an event was lost."""
        self._registry.register(read_set(obj), SET_PREFIX)
