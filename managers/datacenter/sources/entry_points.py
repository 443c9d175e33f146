"""Loads hooks of installed packages from their entry points.

Uses importlib.metadata and managers.datacenter.sources.registry. Called once by
baoctl.controllers.datacenter. An entry point of a package names a hook, or a factory of one without
arguments:

    [project.entry-points."openbao_operator.datacenter_hooks"]
    network = "network_extension.hooks:NetworkHook"
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Final, NoReturn

import structlog

from contracts.datacenter.workload_records import DatacenterInfo, ServiceSource
from managers.datacenter.sources.hooks import Hook, HookContext, SourceError, error_text
from managers.datacenter.sources.registry import InvalidHookError, SourceRegistry, source_of

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

GROUP: Final = "openbao_operator.datacenter_hooks"
_FOREIGN = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class BrokenHook:
    """Replaces a hook that failed to load: datacenters report it and keep their services."""

    name: str
    error: str
    priority: int = 0

    async def services(self, ctx: HookContext, datacenter: DatacenterInfo) -> NoReturn:
        """Raise SourceError."""
        raise SourceError(self.error)


def discover(candidates: Iterable[EntryPoint] | None = None) -> tuple[Hook, ...]:
    """Load the hooks of all packages, by name; a BrokenHook for each that fails to load.

    Raises nothing: a broken package must not affect the others.
    """
    points = entry_points(group=GROUP) if candidates is None else candidates
    loaded: dict[str, tuple[EntryPoint, Hook]] = {}
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        hook = _load(point)
        if hook.name in loaded:
            # It is ambiguous which one is meant, and neither may retire existing services.
            first, _ = loaded[hook.name]
            hook = _broken(
                first,
                f"{_shown(first)} and {_shown(point)} both give a hook of the name {hook.name}: "
                "uninstall one of the packages, or rename its hook",
                hook.name,
            )
            loaded[hook.name] = first, hook
        else:
            loaded[hook.name] = point, hook
    return tuple(hook for _, (_, hook) in sorted(loaded.items()))


def fill(
    registry: SourceRegistry, candidates: Iterable[EntryPoint] | None = None
) -> tuple[ServiceSource, ...]:
    """Register what `discover` finds; returns the sources."""
    return tuple(registry.register(hook) for hook in discover(candidates))


def _load(point: EntryPoint) -> Hook:
    try:
        loaded = point.load()
        # A class may have the attributes of a hook; it is a factory.
        instance = (
            loaded() if isinstance(loaded, type) or not hasattr(loaded, "services") else loaded
        )
        source_of(instance)
    except InvalidHookError as error:
        return _broken(point, f"{_shown(point)}: {error}")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a package does when loaded
        return _broken(
            point,
            f"{_shown(point)} could not be loaded: {error_text(error)}; mend the package or "
            "uninstall it",
        )
    hook: Hook = instance
    return hook


def _broken(point: EntryPoint, error: str, name: str = "") -> BrokenHook:
    log.error("entry point gives no hook", group=GROUP, entry_point=point.name, error=error)
    return BrokenHook(name or _FOREIGN.sub("-", point.name).strip("-._")[:200] or "unnamed", error)


def _shown(point: EntryPoint) -> str:
    package = f" of {point.dist.name}" if point.dist is not None else ""
    return f"entry point {point.name} = {point.value}{package}"
