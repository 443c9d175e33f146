"""Reads files of Go modules from the module cache, without a build.

The version and the checksum are those in ``e2e/tools/<module>``, as for the servers.
"""

import os
import subprocess
from pathlib import Path

import orjson

from e2e.rig.builds import toolchain
from e2e.rig.errors import RigError
from e2e.rig.locks import hold_lock
from e2e.rig.paths import TOOLS, Cache
from e2e.rig.progress import Progress


def module_folder(cache: Cache, module: str, path: str, progress: Progress) -> Path:
    """Return the folder of the Go module `path` that ``e2e/tools/<module>`` requires.

    Downloads it if it is missing. Raises RigError with the output of go.
    """
    go = toolchain(cache, progress).go
    with hold_lock(cache.locks / f"module-{module}.lock", progress, f"the Go module {path}"):
        done = subprocess.run(
            [go, "mod", "download", "-json", path],
            cwd=TOOLS / module,
            env={**os.environ, "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        raise RigError(f"go mod download {path}: {(done.stderr or done.stdout).strip()[-2000:]}")
    return Path(orjson.loads(done.stdout)["Dir"])
