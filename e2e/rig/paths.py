"""The paths of the rig: all below one cache folder, none in the checkout."""

import os
from dataclasses import dataclass
from pathlib import Path

from e2e.rig.errors import RigError

REPOSITORY = Path(__file__).resolve().parents[2]
TOOLS = REPOSITORY / "e2e" / "tools"
# sun_path has 108 bytes with the terminator; containerd's longest socket is its own with ".ttrpc".
SOCKET_PATH_LIMIT = 107


def cache_root() -> Path:
    """Return the cache folder: $OPENBAO_RIG_CACHE, or openbao-operator in the cache of the user."""
    chosen = os.environ.get("OPENBAO_RIG_CACHE")
    if chosen:
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base).absolute() / "openbao-operator"


@dataclass(frozen=True, slots=True)
class Cache:
    """The files that all rigs share."""

    root: Path

    @property
    def binaries(self) -> Path:
        """Servers, one folder per content hash."""
        return self.root / "bin"

    @property
    def images(self) -> Path:
        """Image archives and the storage of the image builder."""
        return self.root / "images"

    @property
    def locks(self) -> Path:
        """Lock files. Not deleted with a rig: otherwise two processes could lock two files."""
        return self.root / "locks"

    @property
    def rigs(self) -> Path:
        """One folder per rig."""
        return self.root / "rigs"

    @property
    def go(self) -> Path:
        """The Go toolchain, if it was installed from the package index."""
        return self.root / "go"


@dataclass(frozen=True, slots=True)
class RigPaths:
    """The folder of one rig."""

    root: Path

    def check(self) -> None:
        """Raise RigError if the path of a socket below the folder would be too long."""
        longest = len(str(self.containerd_socket)) + len(".ttrpc")
        if longest > SOCKET_PATH_LIMIT:
            raise RigError(
                f"{self.root} is too long for unix sockets ({longest} > {SOCKET_PATH_LIMIT} "
                "characters); set OPENBAO_RIG_CACHE to a shorter folder"
            )

    @property
    def state(self) -> Path:
        """The file with mode, addresses and ports, written by the first `up`."""
        return self.root / "rig.json"

    @property
    def netns(self) -> Path:
        """The file that the network namespace is bound to (not in /run/netns)."""
        return self.root / "netns"

    @property
    def pki(self) -> Path:
        """Certificates and keys."""
        return self.root / "pki"

    @property
    def config(self) -> Path:
        """Configuration files and kubeconfigs."""
        return self.root / "config"

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of a cluster administrator."""
        return self.config / "admin.kubeconfig"

    @property
    def log(self) -> Path:
        """One log file per component, and the audit log."""
        return self.root / "log"

    @property
    def audit_log(self) -> Path:
        """One JSON line per completed request to the API server."""
        return self.log / "audit.log"

    @property
    def records(self) -> Path:
        """Process records."""
        return self.root / "run"

    @property
    def bin(self) -> Path:
        """Links to the binaries of this rig."""
        return self.root / "bin"

    @property
    def etcd(self) -> Path:
        """The data of etcd."""
        return self.root / "etcd"

    @property
    def containerd(self) -> Path:
        """Root and state of containerd."""
        return self.root / "containerd"

    @property
    def registries(self) -> Path:
        """Registry configuration of containerd: HOST:PORT/hosts.toml, read at each pull."""
        return self.containerd / "registries"

    @property
    def containerd_socket(self) -> Path:
        """The socket of containerd."""
        return self.root / "containerd.sock"

    @property
    def cni(self) -> Path:
        """The pod network: configuration and address leases."""
        return self.root / "cni"

    @property
    def kubelet(self) -> Path:
        """The root folder of kubelet."""
        return self.root / "kubelet"

    @property
    def volumes(self) -> Path:
        """Persistent volumes, one folder each."""
        return self.root / "volumes"

    @property
    def tmp(self) -> Path:
        """TMPDIR of every component."""
        return self.root / "tmp"

    def make(self) -> None:
        """Create the folders."""
        for folder in (
            self.pki.parent, self.config, self.log, self.records, self.bin, self.containerd,
            self.cni, self.kubelet, self.volumes, self.tmp,
        ):  # fmt: skip
            folder.mkdir(parents=True, exist_ok=True)
        # etcd warns, and later versions fail, if other users can read its data.
        self.etcd.mkdir(mode=0o700, exist_ok=True)


def write_atomically(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    """Replace ``path`` atomically: after a crash it has either the old or the new content."""
    data = content.encode() if isinstance(content, str) else content
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    fresh.replace(path)
