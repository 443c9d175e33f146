"""Saves and restores the sysctls that the kubelet changes on the host.

The kubelet sets them at start (pkg/kubelet/cm, setupKernelTunables), or does not start. The values
from before the first rig are restored after the last one.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path

import orjson

from e2e.rig.locks import hold_lock
from e2e.rig.paths import Cache, write_atomically
from e2e.rig.progress import Progress

_ROOT = Path("/proc/sys")
_WRITTEN_BY_KUBELET = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)


@dataclass(slots=True)
class _SavedSettings:
    rigs: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)


def remember(cache: Cache, rig: str, progress: Progress) -> None:
    """Record that ``rig`` runs a kubelet; for the first rig, save the settings of the host."""
    with hold_lock(cache.locks / "sysctls.lock", progress, "settings of the machine"):
        saved = _load(cache)
        if not saved.rigs:
            saved.values = {name: (_ROOT / name).read_text() for name in _WRITTEN_BY_KUBELET}
        if rig not in saved.rigs:
            saved.rigs.append(rig)
            write_atomically(_file(cache), orjson.dumps(asdict(saved)))


def restore(cache: Cache, rig: str, progress: Progress) -> None:
    """Record that ``rig`` was removed; after the last rig, restore the settings."""
    with hold_lock(cache.locks / "sysctls.lock", progress, "settings of the machine"):
        saved = _load(cache)
        if rig not in saved.rigs:
            return
        saved.rigs.remove(rig)
        if saved.rigs:
            write_atomically(_file(cache), orjson.dumps(asdict(saved)))
            return
        for name, value in saved.values.items():
            (_ROOT / name).write_text(value)
        _file(cache).unlink()


def _file(cache: Cache) -> Path:
    return cache.rigs / "sysctls.json"


def _load(cache: Cache) -> _SavedSettings:
    if not _file(cache).exists():
        return _SavedSettings()
    return _SavedSettings(**orjson.loads(_file(cache).read_bytes()))
