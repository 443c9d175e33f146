"""Installs the Debian packages that the rig needs, if their files are missing."""

import os
import shutil
from pathlib import Path

from e2e.rig.commands import run_long
from e2e.rig.errors import RigError
from e2e.rig.locks import hold_lock
from e2e.rig.paths import Cache, cache_root
from e2e.rig.progress import Progress

# A required file and its package. A name with a slash is a path.
NODE = {
    "containerd": "containerd",
    "runc": "runc",
    "ctr": "containerd",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
    "iptables": "iptables",
    "ip": "iproute2",
    "conntrack": "conntrack",
    "ethtool": "ethtool",
    "socat": "socat",
    "ebtables": "ebtables",
    "nsenter": "util-linux",
    "mount": "mount",
}
# Programs of the NetworkPolicy enforcer besides iptables.
ENFORCER = {"ipset": "ipset"}
IMAGE = {"buildah": "buildah", "mmdebstrap": "mmdebstrap"}
# A software token, and the requirements of cgo; gcc only recommends the headers.
HSM = {"softhsm2-util": "softhsm2", "gcc": "gcc", "/usr/include/stdlib.h": "libc6-dev"}
_QUIET = {"DEBIAN_FRONTEND": "noninteractive"}
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def missing(needed: dict[str, str]) -> list[str]:
    """Return the packages of ``needed`` with missing files."""
    path = f"{os.environ.get('PATH', '')}:{_SYSTEM_PATH}"
    absent = {
        package
        for program, package in needed.items()
        if not (Path(program).exists() if "/" in program else shutil.which(program, path=path))
    }
    return sorted(absent)


def ensure(needed: dict[str, str], progress: Progress) -> None:
    """Install what is missing. Raises RigError with the command and the end of its output.

    Does not contact the package archive if nothing is missing. One process at a time: dpkg allows
    no second one, and several rigs may start at the same time on a new machine.
    """
    if not missing(needed):
        return
    with hold_lock(Cache(cache_root()).locks / "packages.lock", progress, "Debian packages"):
        if packages := missing(needed):
            _install(packages, progress)


def unpack(package: str, progress: Progress) -> Path:
    """Return a folder with the files of a package that is not installed, in the cache.

    An installation would start the service of the package on a machine that runs systemd.
    Raises RigError with the command and the end of its output.
    """
    cache = Cache(cache_root())
    folder = cache.root / "debian" / package
    with hold_lock(cache.locks / f"{package}.lock", progress, f"Debian package {package}"):
        if not folder.exists():
            partial = folder.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            _read_lists(progress)
            download = f'cd "{partial}" && apt-get download {package} && dpkg-deb --extract *.deb .'
            run_long(f"fetching {package}", ["sh", "-c", download], progress)
            partial.rename(folder)
    return folder


def _install(packages: list[str], progress: Progress) -> None:
    if shutil.which("apt-get") is None:
        raise RigError(f"please install: {' '.join(packages)} (this machine has no apt-get)")
    if os.geteuid() != 0:
        raise RigError(f"missing packages: run as root, or install {' '.join(packages)}")
    install = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    _read_lists(progress)
    run_long(f"installing {' '.join(packages)}", install, progress, environment=_QUIET)


def _read_lists(progress: Progress) -> None:
    command = ["apt-get", "update"]
    run_long("reading the package lists", command, progress, environment=_QUIET)
