"""The key-value engine of a measurement: its paths, and the required capabilities. Pure.

Called by baoctl.commands.bench.keys and baoctl.commands.bench.workload. API: OpenBao 2.4.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

NAME: Final = "bao_bench_"
"""Prefix of the engine of a run, or of its keys in an existing engine."""
ROOT: Final = "root"
DESCRIPTION: Final = "made by kubectl bao bench, which removes it at its end"
MOUNTS_MAX: Final = 5
"""Maximum number of engines of other runs in a report."""
_OWN: Final = re.compile(rf"{NAME}[0-9a-f]{{16}}/")


@dataclass(frozen=True, slots=True)
class Engine:
    """The location of the keys of one run."""

    mount: str
    version: int
    folder: str
    """Prefix of the keys in an existing engine; "" in an engine that the run mounts."""

    @property
    def is_own(self) -> bool:
        """Whether the run mounts and removes the engine."""
        return not self.folder

    @property
    def mount_path(self) -> str:
        """Path of the requests that mount and remove the engine."""
        return f"sys/mounts/{self.mount}"

    def content_path(self, key: str) -> str:
        """Return the path to write and read a key."""
        return self._path("data", key)

    def removal_path(self, key: str) -> str:
        """Return the path to delete a key with all of its versions."""
        return self._path("metadata", key)

    def _path(self, kind: str, key: str) -> str:
        parts = (self.mount, kind if self.version == 2 else "", self.folder, key)
        return "/".join(part for part in parts if part)

    def payload(self, value: str) -> Mapping[str, Any]:
        """Return the body of a write."""
        data = {"value": value}
        return {"data": data} if self.version == 2 else data

    def required(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the capabilities that a run requires, by path."""
        if self.is_own:
            yield self.mount_path, ("update", "delete")
        yield self.content_path("w0k0"), ("create", "update", "read")
        if not self.is_own:
            yield self.removal_path("w0k0"), ("delete",)

    def settings(self) -> Mapping[str, Any]:
        """Return the body of the request that mounts the engine."""
        return {
            "type": "kv",
            "options": {"version": str(self.version)},
            "description": DESCRIPTION,
        }


def own_engine(run: str) -> Engine:
    """Return the engine that a run mounts: version 2, which most applications use."""
    return Engine(f"{NAME}{run}", 2, "")


def engines_of_other_runs(mounts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the mounts of other runs, sorted by name, at most MOUNTS_MAX.

    `mounts` is the response to GET sys/internal/ui/mounts: the mounts that the token may use.
    """
    engines = mounts.get("secret")
    items = engines.items() if isinstance(engines, Mapping) else ()
    names = sorted(
        path.removesuffix("/")
        for path, settings in items
        if _OWN.fullmatch(path)
        and isinstance(settings, Mapping)
        and settings.get("description") == DESCRIPTION
    )
    return tuple(names[:MOUNTS_MAX])


def existing_engine(mount: str, run: str, settings: Mapping[str, Any]) -> Engine | None:
    """Return the engine at a mount; None if its settings are not those of a key-value engine."""
    if settings.get("type") != "kv":
        return None
    options = settings.get("options")
    version = options.get("version") if isinstance(options, Mapping) else None
    return Engine(mount, 2 if version == "2" else 1, f"{NAME}{run}")


def missing_capabilities(engine: Engine, capabilities: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the capabilities that a token lacks, as one text for each path.

    `capabilities` is the response to POST sys/capabilities-self.
    """
    texts = []
    for path, required in engine.required():
        granted = capabilities.get(path)
        granted = granted if isinstance(granted, list) else []
        if ROOT in granted:
            continue
        missing = [capability for capability in required if capability not in granted]
        if missing:
            texts.append(f"{', '.join(missing)} at {path}")
    return tuple(texts)
