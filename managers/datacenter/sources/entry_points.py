"""Loads hooks of installed packages from their entry points.

Uses importlib.metadata and managers.datacenter.sources.registry. Called once by
baoctl.controllers.datacenter. An entry point names a hook, or a function without arguments that
returns one:

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
_INVALID = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class BrokenHook:
    """Replaces a hook that failed to load: datacenters report the error and keep its services."""

    name: str
    error: str
    priority: int = 0

    async def services(self, ctx: HookContext, datacenter: DatacenterInfo) -> NoReturn:
        """Raise SourceError."""
        raise SourceError(self.error)


def discover(candidates: Iterable[EntryPoint] | None = None) -> tuple[Hook, ...]:
    """Load the hooks of all packages, sorted by name; a BrokenHook replaces one that fails to load.

    Never raises, because a broken package must not affect the others.
    """
    points = entry_points(group=GROUP) if candidates is None else candidates
    hooks: dict[str, tuple[EntryPoint, Hook]] = {}
    for entry_point in sorted(points, key=lambda point: (point.name, point.value)):
        hook = _load(entry_point)
        if hook.name in hooks:
            # Neither hook may retire the services of the other one.
            first, _ = hooks[hook.name]
            hook = _broken_hook(
                first,
                f"{_describe(first)} and {_describe(entry_point)} both have the hook name "
                f"{hook.name}: uninstall one of the packages, or rename its hook",
                hook.name,
            )
            hooks[hook.name] = first, hook
        else:
            hooks[hook.name] = entry_point, hook
    return tuple(hook for _, (_, hook) in sorted(hooks.items()))


def register_hooks(
    registry: SourceRegistry, candidates: Iterable[EntryPoint] | None = None
) -> tuple[ServiceSource, ...]:
    """Register the hooks that `discover` returns; return their sources."""
    return tuple(registry.register(hook) for hook in discover(candidates))


def _load(entry_point: EntryPoint) -> Hook:
    try:
        loaded = entry_point.load()
        # A class is called, even if it has the attributes of a hook.
        instance = (
            loaded() if isinstance(loaded, type) or not hasattr(loaded, "services") else loaded
        )
        source_of(instance)
    except InvalidHookError as error:
        return _broken_hook(entry_point, f"{_describe(entry_point)}: {error}")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the package of a user may raise anything
        return _broken_hook(
            entry_point,
            f"{_describe(entry_point)} could not be loaded: {error_text(error)}; fix the package "
            "or uninstall it",
        )
    hook: Hook = instance
    return hook


def _broken_hook(entry_point: EntryPoint, error: str, name: str = "") -> BrokenHook:
    log.error(
        "entry point has no valid hook", group=GROUP, entry_point=entry_point.name, error=error
    )
    return BrokenHook(
        name or _INVALID.sub("-", entry_point.name).strip("-._")[:200] or "unnamed", error
    )


def _describe(entry_point: EntryPoint) -> str:
    package = f" of {entry_point.dist.name}" if entry_point.dist is not None else ""
    return f"entry point {entry_point.name} = {entry_point.value}{package}"
