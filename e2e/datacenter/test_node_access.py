"""An agent that reads the logs of its node as root, if its datacenter allows it."""

import uuid
from collections.abc import Iterator

import pytest

from contracts.admission.operator_pods import LEVEL
from contracts.api.group import API_VERSION
from contracts.datacenter.grants import NODE_ACCESS_DENIED
from contracts.datacenter.kinds import SERVICE_SET_KIND, SERVICE_SETS
from contracts.naming import labels
from e2e.conftest import MakeNamespace
from e2e.datacenter.bodies import SLEEP, part, sleeper
from e2e.harness.datacenters import ON, DatacenterUnderTest, cleanup_of, install_datacenters
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api, missing_ok
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.harness.waiting import Stopwatch, until
from e2e.rig import Rig
from runtime.builtin_kinds import DAEMON_SET, NAMESPACE
from runtime.types import Object, labels_of

SET = f"logging-{uuid.uuid4().hex[:6]}"
LINE = f"line-{uuid.uuid4().hex}"
# The files of the node are below /logs, as for a log shipper.
_READ = f"""
import os, pathlib, signal, time
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
print("user:", os.getuid(), flush=True)
try:
    pathlib.Path("/logs/mine").write_text("x")
except OSError as error:
    print("write:", error.strerror, flush=True)
wanted = "{LINE[:5]}" + "{LINE[5:]}"
def has_line(file):
    try:
        return file.suffix == ".log" and wanted in file.read_text()
    except OSError:
        # The kubelet has removed the logs of a deleted pod.
        return False
while True:
    files = (pathlib.Path(top, name) for top, _, names in os.walk("/logs") for name in names)
    found = [file for file in files if has_line(file)]
    if found:
        print("found:", found[0].parent.name, flush=True)
        pathlib.Path("/tmp/found").touch()
        break
    time.sleep(0.5)
while True:
    signal.pause()
"""


@pytest.fixture(scope="module")
def image(rig: Rig) -> str:
    """The image of the operator."""
    install_datacenters(rig)
    return rig.load_operator_image()


@pytest.fixture(scope="module")
def operator_with_datacenters(launcher: Launcher, controller: Identity) -> Operator:
    """An operator that manages datacenters."""
    return launcher.start(controller, NO_ELECTION, environment=ON)


@pytest.fixture(scope="module")
def logs(rig: Rig) -> str:
    """The folder of the container logs of the rig's kubelet."""
    return str(rig.paths.log / "pods")


@pytest.fixture(scope="module")
def datacenter(
    api: Api,
    make_namespace: MakeNamespace,
    operator_with_datacenters: Operator,
    image: str,
    logs: str,
) -> Iterator[DatacenterUnderTest]:
    """A service in its spec logs a line; the agent is from a set."""
    assert operator_with_datacenters.alive
    datacenter = DatacenterUnderTest(api, f"osl{uuid.uuid4().hex[:6]}", make_namespace())
    # As docs/datacenters.md describes for the administrator.
    privileged = {"metadata": {"labels": {LEVEL: "privileged"}}}
    api.patch(NAMESPACE, None, datacenter.namespace, privileged)
    spec = {"selector": {"zones": [datacenter.name]}, "services": [agent(image, logs)]}
    metadata = {"name": SET}
    body = {"apiVersion": API_VERSION, "kind": SERVICE_SET_KIND, "metadata": metadata, "spec": spec}
    api.create(SERVICE_SETS, body)
    speaker = part(image, f"print({LINE!r}, flush=True)\n{SLEEP}")
    datacenter.create({**sleeper(image, "speaker"), "services": [speaker]}, zone=datacenter.name)
    yield datacenter
    with missing_ok():
        api.delete(SERVICE_SETS, None, SET)
    cleanup_of(api, datacenter)()


def agent(image: str, folder: str) -> Object:
    """A DaemonSet that reads the logs of its node, as a log shipper does."""
    volume = {"name": "logs", "kind": "HostPath", "hostPath": folder, "mountPath": "/logs"}
    # The image has Python and no shell.
    command = ["python3", "-c", "open('/tmp/found')"]
    check = {"command": command, "periodSeconds": 1, "timeoutSeconds": 5}
    main = part(image, _READ, volumes=[volume], healthCheck=check)
    return {"name": "agent", "kind": "DaemonSet", "runAsUser": 0, "services": [main]}


@pytest.mark.timeout(200)
def test_an_agent_without_node_access_fails_and_other_services_run(
    api: Api, datacenter: DatacenterUnderTest, logs: str
) -> None:
    until("the speaker runs", lambda: datacenter.state("speaker") == "Running", 90.0)
    until("the agent is Failed", lambda: datacenter.state("agent") == "Failed", 60.0)
    error = datacenter.workload("agent")["status"]["lastError"]
    print(f"\n  {error['message']}")
    assert error["reason"] == NODE_ACCESS_DENIED
    assert f"hostPaths of Datacenter {datacenter.name}, which allows nothing" in error["message"]
    assert f"(got {logs})" in error["message"]
    condition = datacenter.await_condition("Ready", "False", "ServicesFailed")
    assert "hostPath: must be at or below" in condition["message"]
    assert api.find(DAEMON_SET, datacenter.namespace, datacenter.child("agent")) is None


@pytest.mark.timeout(200)
def test_an_agent_with_node_access_reads_the_logs_of_its_node(
    rig: Rig, datacenter: DatacenterUnderTest, logs: str
) -> None:
    watch = Stopwatch()
    datacenter.change(nodeAccess={"hostPaths": [logs.rpartition("/")[0]], "runAsRoot": True})
    datacenter.await_running(120.0)
    print(f"\n  {watch.seconds:.1f} s: the agent runs, and has found the line")
    (pod,) = datacenter.pods("agent")
    log = rig.kubectl("-n", datacenter.namespace, "logs", pod["metadata"]["name"])
    print(log)
    assert log.splitlines() == ["user: 0", "write: Read-only file system", "found: main"]
    # Pods of services lack the label of servers and Jobs.
    assert labels.MANAGED_BY not in labels_of(pod)


@pytest.mark.timeout(200)
def test_removed_node_access_is_reported_and_the_pod_keeps_running(
    datacenter: DatacenterUnderTest,
) -> None:
    before = datacenter.uids("agent")
    datacenter.change(nodeAccess=None)
    until("the agent is reported as Failed", lambda: datacenter.state("agent") == "Failed", 30.0)
    assert "stay unchanged" in datacenter.workload("agent")["status"]["message"]
    assert datacenter.uids("agent") == before
