"""The interface of the rig for scenarios, tests and the demo."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from e2e.rig import (
    components,
    enforcement,
    images,
    operator_image,
    slots,
    stacks,
    sysctls,
    teardown,
)
from e2e.rig import layout as layouts
from e2e.rig.boot import Boot, api_ready, node_ready
from e2e.rig.commands import require_root
from e2e.rig.errors import RigError
from e2e.rig.kube import Kube
from e2e.rig.layout import Layout
from e2e.rig.locks import hold_lock
from e2e.rig.paths import Cache, RigPaths, cache_root
from e2e.rig.processes import ProcessTable
from e2e.rig.progress import Progress, to_stderr
from e2e.rig.versions import OPENBAO, OPERATOR_IMAGE

# The API server ends a request after 60 seconds: the stacks are read before.
_SLOW_SECONDS = 50.0


class Rig:
    """A named rig: a full node, or only etcd and kube-apiserver.

    The object is stateless: several processes may use the same rig, and killing one of them
    does not change the rig. Methods raise RigError.
    """

    def __init__(self, name: str = "demo", progress: Progress | None = None) -> None:
        self.name = name
        self.progress = progress or to_stderr()
        self.cache = Cache(cache_root())
        self.paths = RigPaths(self.cache.rigs / name)
        self.table = ProcessTable(self.paths.records, self.paths.log)

    def up(self, *, control_plane: bool = False, images: Sequence[str] = (OPENBAO,)) -> None:
        """Start the rig, or the parts of it that are not running.

        ``images`` are OpenBao versions, each an image localhost/openbao:VERSION (node only).
        """
        if not control_plane:
            require_root("a node")
        with self._lock():
            layout = self._claim(control_plane)
            boot = Boot(self.cache, layout, self.table, self.progress)
            if control_plane:
                boot.control_plane()
            else:
                boot.node(tuple(images))

    def down(self) -> None:
        """Remove the rig and everything it created; does nothing if it does not exist."""
        with self._lock():
            layout = layouts.load(self.name, self.paths)
            if layout is not None:
                teardown.remove(layout, self.table, self.progress)
            teardown.discard(self.paths.root)
            sysctls.restore(self.cache, self.name, self.progress)
            slots.release(self.cache, self.name, self.progress)

    @property
    def layout(self) -> Layout:
        """Names and addresses. Raises RigError if the rig does not exist."""
        layout = layouts.load(self.name, self.paths)
        if layout is None:
            raise RigError(f"rig {self.name} does not exist: run up first")
        return layout

    @property
    def exists(self) -> bool:
        """Whether the rig exists."""
        return self.paths.state.exists()

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of a cluster administrator."""
        return self.paths.kubeconfig

    @property
    def audit_log(self) -> Path:
        """One JSON line (audit.k8s.io/v1 Event, level Metadata) per completed request."""
        return self.paths.audit_log

    @property
    def netns(self) -> Path:
        """The file that the network namespace is bound to, for ``nsenter --net=FILE``."""
        return self.paths.netns

    @property
    def server(self) -> str:
        """The URL of the API server, reachable from the host."""
        return self.layout.server

    def bin(self, name: str) -> Path:
        """Return the path of a binary of this rig, for example kubectl."""
        return self.paths.bin / name

    def environment(self) -> dict[str, str]:
        """Return variables for a child process: KUBECONFIG, and PATH with the rig's binaries."""
        path = f"{self.paths.bin}:{os.environ.get('PATH', '')}"
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "PATH": path}

    def inside(self, *argv: str) -> list[str]:
        """Return ``argv`` as a command inside the network namespace of the rig."""
        return self.layout.inside(*argv)

    def kubectl(self, *args: str, input: str | None = None, timeout: float = 180.0) -> str:
        """Run kubectl as administrator and return its output.

        Raises RigError with its stderr, or with its stack if it does not end in ``timeout``
        seconds; for a slow one also with the stacks of the requests that the API server handled.
        """
        command = f"kubectl {' '.join(args)}"
        with self._kubectl(*args) as process:
            try:
                stdout, stderr, requests = self._communicate(process, input, timeout)
            except RigError as error:
                raise RigError(f"{command} {error}") from None
            finally:
                process.kill()
        if process.returncode != 0:
            raise RigError(f"{command}: {stderr.strip()[-2000:]}{requests}")
        return stdout

    def _communicate(
        self, process: subprocess.Popen[str], input: str | None, timeout: float
    ) -> tuple[str, str, str]:
        """Return the output, the errors and, for a slow command, the requests of the API server."""
        slow = min(timeout, _SLOW_SECONDS)
        try:
            return *process.communicate(input, slow), ""
        except subprocess.TimeoutExpired:
            requests = self._requests()
        try:
            return *process.communicate(timeout=timeout - slow), requests
        except subprocess.TimeoutExpired:
            stack = stacks.stack_of_main(process)
            raise RigError(f"does not end in {timeout:g} s\n{stack}{requests}") from None

    def _kubectl(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(self.bin("kubectl")), *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(),
        )

    def _requests(self) -> str:
        with self._kubectl("get", "--raw", stacks.DUMP, "--request-timeout=20s") as dump:
            return f"\n\nkube-apiserver:\n{stacks.stacks_of_requests(dump.communicate()[0])}"

    def components(self) -> tuple[str, ...]:
        """Return the names that stop, start, pause and resume accept."""
        return components.names(self.layout)

    def running(self, component: str) -> bool:
        """Whether the component is running (also if it is paused)."""
        return self.table.running(component) is not None

    def stop(self, component: str, grace: float = 2.0) -> None:
        """Stop a component: SIGTERM, and SIGKILL after ``grace`` seconds. Pods keep running."""
        self._require_component(component)
        self.table.stop([component], grace)

    def start(self, component: str) -> None:
        """Start a stopped component; returns before it is ready (see wait_ready)."""
        self._require_component(component)
        self.table.start(component, components.command(self.layout, component))

    def wait_ready(self, seconds: float = 60.0) -> None:
        """Wait until the API server is ready and, on a node, until pods can be scheduled."""
        self._wait(api_ready if self.layout.control_plane_only else node_ready, seconds)

    def wait_api(self, seconds: float = 60.0) -> None:
        """Wait until the API server serves all kinds, and RBAC is synced.

        Before that, it responds to other users than its administrator with 403.
        """
        self._wait(api_ready, seconds)

    def _wait(self, holds: Callable[[Kube], bool], seconds: float) -> None:
        kube = Kube.from_kubeconfig(self.kubeconfig)
        until = time.monotonic() + seconds
        while not holds(kube):
            if time.monotonic() > until:
                raise RigError(f"rig {self.name} is not ready after {seconds:.0f} s")
            time.sleep(0.05)

    def pause(self, component: str) -> None:
        """Freeze a component (SIGSTOP): its connections stay open, and it does not respond."""
        self._signal(component, signal.SIGSTOP)

    def resume(self, component: str) -> None:
        """Resume a paused component (SIGCONT)."""
        self._signal(component, signal.SIGCONT)

    def enforce_policies(self) -> None:
        """Start to enforce NetworkPolicies on the node; before that they have no effect."""
        enforcement.start(self.cache, self.layout, self.table, self.progress)

    def ignore_policies(self) -> None:
        """Stop enforcing NetworkPolicies."""
        enforcement.stop(self.layout, self.table, self.progress)

    def enforced_addresses(self) -> str:
        """Return the rules of the enforcer, with the addresses of all pods that it knows."""
        return enforcement.rules(self.layout)

    def load_image(self, archive: Path) -> None:
        """Import an OCI archive into the rig's containerd."""
        images.load(self.layout, archive)

    def load_openbao(self, versions: Sequence[str]) -> None:
        """Load an image localhost/openbao:VERSION of each version; existing ones are kept."""
        known = images.present(self.layout)
        if all(images.openbao_reference(version) in known for version in versions):
            return
        server_images = images.server_images(self.cache, tuple(versions), self.progress)
        for reference, archive in server_images.items():
            if reference not in known:
                images.load(self.layout, archive)
                self.progress(f"loaded {reference}")

    def load_operator_image(self) -> str:
        """Build the operator image from the checkout, load it, and return its name.

        Does nothing if neither code nor dependencies changed.
        """
        built = operator_image.build(self.cache, self.progress)
        if operator_image.load(self.layout, built):
            self.progress(f"loaded {OPERATOR_IMAGE}")
        return OPERATOR_IMAGE

    def tag_image(self, image: str, name: str) -> None:
        """Add a name to a loaded image."""
        images.tag(self.layout, image, name)

    def _signal(self, component: str, number: signal.Signals) -> None:
        self._require_component(component)
        if not self.table.signal(component, number):
            raise RigError(f"{component} is not running")

    def _require_component(self, component: str) -> None:
        if component not in self.components():
            raise RigError(f"unknown component {component!r}: {', '.join(self.components())}")

    def _claim(self, control_plane: bool) -> Layout:
        live = layouts.load(self.name, self.paths)
        if live is not None:
            if live.control_plane_only != control_plane:
                kind = "a control plane only" if live.control_plane_only else "a whole node"
                raise RigError(f"rig {self.name} is {kind}: remove it first")
            self.paths.make()
            return live
        slot = slots.claim(self.cache, self.name, self.progress)
        self.paths.check()
        teardown.discard(self.paths.root)
        ports = layouts.free_ports(slot.ports, 3) if control_plane else ()
        self.paths.make()
        layout = Layout(self.name, slot, self.paths, ports)
        layout.save()
        return layout

    @contextmanager
    def _lock(self) -> Iterator[None]:
        path = self.cache.locks / f"rig-{self.name}.lock"
        with hold_lock(path, self.progress, f"rig {self.name}"):
            yield
