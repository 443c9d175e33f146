"""Registry of the sources of services other than the datacenters themselves.

Uses managers.datacenter.sources.hooks. Hooks are registered by baoctl.controllers.datacenter, by
managers.datacenter.sources.entry_points and, for every BootstrapServiceSet, by
managers.datacenter.sources.service_sets.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import structlog

from contracts.datacenter.workload_records import ServiceSource
from managers.datacenter.sources.hooks import Hook
from managers.datacenter.sources.merge import HOOK_PREFIX

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

PRIORITY_MAX: Final = 1_000_000
NAME_MAX: Final = 253
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")

Listener = Callable[[str], None]
"""Called with the name of a source that was added, changed or removed; in the same thread."""


class InvalidHookError(ValueError):
    """An object is not a valid hook; the message has the reason and the fix."""


class RegisteredSource(NamedTuple):
    """A hook and its source."""

    source: ServiceSource
    hook: Hook


class SourceRegistry:
    """Holds each source once. Safe for use from any task and any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # This mapping is replaced and never mutated, so that readers have a consistent snapshot.
        self._sources: Mapping[str, RegisteredSource] = MappingProxyType({})
        self._ranked: tuple[RegisteredSource, ...] = ()
        self._listeners: tuple[Listener, ...] = ()

    def register(self, hook: Hook, prefix: str = HOOK_PREFIX) -> ServiceSource:
        """Add a hook, replacing one of the same name; return its source.

        `prefix` precedes the name of the hook in the name of the source. Listeners are not called
        if the same hook is registered already. Raises InvalidHookError.
        """
        registered = RegisteredSource(source_of(hook, prefix), hook)
        with self._lock:
            if self._sources.get(registered.source.name) == registered:
                return registered.source
            self._replace({**self._sources, registered.source.name: registered})
        self._notify(registered.source.name)
        return registered.source

    def unregister(self, name: str, prefix: str = HOOK_PREFIX) -> bool:
        """Remove a hook; False if there is none of that name. Its records are kept."""
        source = prefix + name
        with self._lock:
            if source not in self._sources:
                return False
            self._replace(
                {key: registration for key, registration in self._sources.items() if key != source}
            )
        self._notify(source)
        return True

    def snapshot(self) -> tuple[RegisteredSource, ...]:
        """Return all sources by rank, the highest precedence first; an immutable copy."""
        return self._ranked

    def on_change(self, listener: Listener) -> None:
        """Call the listener after each later change. Its exceptions are logged and dropped."""
        with self._lock:
            self._listeners = (*self._listeners, listener)

    def _replace(self, sources: dict[str, RegisteredSource]) -> None:
        self._sources = MappingProxyType(sources)
        self._ranked = tuple(
            sorted(sources.values(), key=lambda registration: registration.source.rank)
        )

    def _notify(self, source: str) -> None:
        # Outside of the lock: a listener may read or change the registry.
        for listener in self._listeners:
            try:
                listener(source)
            except Exception as error:
                log.error("listener of the source registry failed", source=source, exc_info=error)


def source_of(hook: Hook, prefix: str = HOOK_PREFIX) -> ServiceSource:
    """Return the source of a hook; raises InvalidHookError if the hook is invalid."""
    if hook is None:
        raise InvalidHookError(
            "None is not a hook: pass an object with name, priority and services"
        )
    name, priority = getattr(hook, "name", None), getattr(hook, "priority", None)
    kind = type(hook).__name__
    if not isinstance(name, str) or len(name) > NAME_MAX or not _NAME.fullmatch(name):
        raise InvalidHookError(
            f"{kind}.name must be 1 to {NAME_MAX} letters, digits, dots, dashes or underscores, "
            f"with a letter or digit at both ends (got {name!r}): give the hook a stable name"
        )
    if type(priority) is not int or abs(priority) > PRIORITY_MAX:
        raise InvalidHookError(
            f"{kind}.priority of hook {name} must be an integer from -{PRIORITY_MAX} to "
            f"{PRIORITY_MAX} (got {priority!r}): set it, for example to 0"
        )
    if not callable(getattr(hook, "services", None)):
        raise InvalidHookError(
            f"{kind} has no method services: wrap a plain function as "
            f"FunctionHook({name!r}, function)"
        )
    return ServiceSource(prefix + name, priority)
