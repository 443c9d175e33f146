"""Servers that are not Go programs: moto and PyKMIP from PyPI, azurite from npm.

Each is installed at its locked hashes into a content-addressed folder, as the servers of
e2e.rig.builds are, so a second run installs nothing.
"""

import hashlib
import platform
import shutil
import sys
import venv
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from e2e.rig.commands import run_long
from e2e.rig.locks import hold_lock
from e2e.rig.paths import TOOLS, Cache
from e2e.rig.progress import Progress

_MOTO = TOOLS / "moto"
_PYKMIP = TOOLS / "pykmip"
_AZURITE = TOOLS / "azurite"
_LOCK = "package-lock.json"
# No install scripts: azurite needs none, and they would run as root.
_NPM_CI = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-progress")


@dataclass(frozen=True, slots=True)
class Stores:
    """The commands of the stores, without the arguments for the listen address."""

    moto: tuple[str, ...]
    azurite: tuple[str, ...]


def install(cache: Cache, progress: Progress) -> Stores:
    """Install what is missing, in parallel. Raises RigError with the output of the installer.

    This mostly waits for the network; callers may build servers at the same time.
    """
    with ThreadPoolExecutor(2) as pool:
        moto = pool.submit(_moto, cache, progress)
        azurite = pool.submit(_azurite, cache, progress)
        return Stores(moto.result(), azurite.result())


def install_kmip(cache: Cache, progress: Progress) -> Path:
    """Install PyKMIP, and return the Python that has its server and its client."""
    return _python("pykmip", _PYKMIP / "requirements.txt", cache, progress)


def _moto(cache: Cache, progress: Progress) -> tuple[str, ...]:
    python = _python("moto", _MOTO / "requirements.txt", cache, progress)
    return (str(python), "-m", "moto.server")


def _python(name: str, lock: Path, cache: Cache, progress: Progress) -> Path:
    """Return the Python of an environment with the packages of a lock file."""

    def fill(folder: Path) -> None:
        _into_venv(f"installing {name}", folder, lock, progress)

    return ensure_installed(cache, name, (lock,), fill, progress) / "bin" / "python"


def _azurite(cache: Cache, progress: Progress) -> tuple[str, ...]:
    node, npm = _node(cache, progress)
    files = (_AZURITE / "package.json", _AZURITE / _LOCK)

    def fill(folder: Path) -> None:
        folder.mkdir(parents=True)
        for file in files:
            shutil.copy(file, folder)
        # npm finds node in PATH, which may not have one.
        path = {"PATH": f"{Path(node).parent}:/usr/local/bin:/usr/bin:/bin"}
        run_long("installing azurite", [npm, *_NPM_CI], progress, folder, path)

    home = ensure_installed(cache, "azurite", files, fill, progress)
    script = home / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
    return (node, str(script))


def _node(cache: Cache, progress: Progress) -> tuple[str, str]:
    """Return node and npm of PATH, or install them into the cache.

    Does not install npm from Debian, which depends on several hundred packages.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        return node, npm
    lock = _AZURITE / "node.txt"

    def fill(folder: Path) -> None:
        _into_venv("installing Node.js", folder, lock, progress)

    home = ensure_installed(cache, "node", (lock,), fill, progress)
    return str(home / "bin" / "node"), str(home / "bin" / "npm")


def _into_venv(what: str, folder: Path, lock: Path, progress: Progress) -> None:
    venv.create(folder, with_pip=False, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install"]
    strict = ["--require-hashes", "--only-binary=:all:", "--disable-pip-version-check"]
    # Not compiled now: only a few of some thousand files are ever imported.
    run_long(what, [*pip, *strict, "--no-compile", "--requirement", str(lock)], progress)


def ensure_installed(
    cache: Cache,
    name: str,
    made_of: tuple[Path, ...],
    fill: Callable[[Path], None],
    progress: Progress,
) -> Path:
    """Return the folder for the lock file ``made_of``; ``fill`` it if it is incomplete."""
    digest = hashlib.sha256(f"{platform.machine()} {sys.version_info[:2]}".encode())
    for file in made_of:
        digest.update(file.read_bytes() + b"\0")
    home = cache.root / "stores" / f"{name}-{digest.hexdigest()[:16]}"
    whole = home / "whole"
    if not whole.exists():
        with hold_lock(cache.locks / f"{home.name}.lock", progress, f"installing {name}"):
            # A marker instead of a rename: installed packages contain the path of their folder.
            if not whole.exists():
                shutil.rmtree(home, ignore_errors=True)
                fill(home)
                whole.touch()
    return home
