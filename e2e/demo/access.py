"""Access to Services and pods: in the network of the rig, or through a port-forward."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, Protocol

import orjson

from contracts.naming.ports import API
from e2e.demo import https_call
from e2e.demo.api import Api, ApiError
from e2e.demo.errors import DemoError
from e2e.demo.https_call import Answer, Call
from e2e.demo.kubectl import Kubectl, end
from e2e.demo.objects import status_of
from e2e.rig import Rig

_FORWARD_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Target:
    """A Service or a pod."""

    kind: Literal["service", "pod"]
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request without its address: the other fields of a Call."""

    server_name: str
    authority: str
    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, object] | None = None


class Access(Protocol):
    """Sends a request to a target; a failure is an Answer with status 0."""

    def call(self, target: Target, request: ApiRequest) -> Answer:
        """Send `request` to `target`, at its API port."""
        ...


@dataclass(frozen=True, slots=True)
class InsideRig:
    """Connects to cluster IPs and pod IPs from the network namespace of the rig.

    So the client Service is used as by pods, including its load balancing.
    """

    rig: Rig
    api: Api

    def call(self, target: Target, request: ApiRequest) -> Answer:
        """Send `request` from a child process in the network namespace."""
        address = self._address(target)
        if not address:
            return Answer(0, error=f"{target.kind} {target.name} has no address")
        script = str(Path(https_call.__file__))
        call = Call(host=address, port=API.number, **asdict(request))
        result = subprocess.run(
            self.rig.inside(sys.executable, "-I", script),
            input=orjson.dumps(asdict(call)),
            capture_output=True,
            timeout=call.timeout + 20.0,
            check=False,
        )
        if result.returncode != 0:
            output = result.stderr.decode(errors="replace").strip()
            raise DemoError(f"cannot run a client inside the rig: {output[-500:]}")
        return Answer(**orjson.loads(result.stdout))

    def _address(self, target: Target) -> str:
        plural = f"{target.kind}s"
        try:
            live = self.api.find(f"/api/v1/namespaces/{target.namespace}/{plural}/{target.name}")
        except (OSError, ApiError):
            return ""
        if live is None:
            return ""
        if target.kind == "service":
            return str(live["spec"].get("clusterIP", ""))
        return str(status_of(live).get("podIP", ""))


@dataclass(frozen=True, slots=True)
class PortForward:
    """Opens a port-forward for each request, because it breaks when its pod is deleted."""

    kubectl: Kubectl

    def call(self, target: Target, request: ApiRequest) -> Answer:
        """Send `request` to a local port that kubectl forwards."""
        try:
            with self._forward(target) as port:
                return https_call.perform(Call(host="127.0.0.1", port=port, **asdict(request)))
        except DemoError as error:
            return Answer(0, error=str(error))

    @contextmanager
    def _forward(self, target: Target) -> Iterator[int]:
        which = f"{target.kind}/{target.name}"
        options = ["-n", target.namespace, "--address", "127.0.0.1"]
        process = self.kubectl.start("port-forward", *options, which, f":{API.number}")
        try:
            yield _local_port(process)
        finally:
            end(process)


def _local_port(process: "subprocess.Popen[str]") -> int:
    """Read the port from the first line of kubectl. Raises DemoError if it cannot be parsed."""
    assert process.stdout is not None
    output: list[str] = []
    # Ends the loop below if kubectl prints nothing.
    deadline = threading.Timer(_FORWARD_SECONDS, process.terminate)
    deadline.start()
    try:
        for line in process.stdout:
            if (port := parse_port(line)) is not None:
                return port
            output.append(line.strip())
    finally:
        deadline.cancel()
    raise DemoError(f"kubectl port-forward: {' '.join(output)[-300:] or 'no output'}")


def parse_port(line: str) -> int | None:
    """Return the local port of `Forwarding from 127.0.0.1:40123 -> 8200`."""
    words = line.split()
    if words[:2] != ["Forwarding", "from"] or "->" not in words:
        return None
    return int(words[2].rpartition(":")[2])
