"""The operator from the multi-tenant overlay, in pods with the shipped limits."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from e2e.demo.manifests import OPERATOR_SELECTOR, Installation, as_list, operator_objects
from e2e.demo.objects import name_of
from e2e.harness.installation import NAMESPACE, install
from e2e.harness.kubernetes import Api, Object
from e2e.harness.operator import IMAGE_REPOSITORY
from e2e.harness.overlays import render_overlay
from e2e.harness.waiting import until
from e2e.rig import Rig
from e2e.rig.paths import REPOSITORY
from runtime.builtin_kinds import LEASE, POD
from runtime.types import Resource

DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments")
OVERLAY = "multi-tenant"
# They would refuse some of the attacks; the operator must withstand all of them.
GUARDS = frozenset({"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"})
KEPT = frozenset({"Namespace", "CustomResourceDefinition"})
SECONDS = 90.0
_MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class Process:
    """One pod of the operator or of the provisioner."""

    pod: str
    restarts: int
    highest: float
    """Peak memory of its cgroup, in MB (10^6 bytes)."""
    limit: float


@dataclass(frozen=True, slots=True)
class InstalledOperator:
    """The installed operator and provisioner."""

    rig: Rig
    api: Api

    def pods(self) -> list[Object]:
        """Return all pods of controller and provisioner."""
        return self.api.list(POD, NAMESPACE, f"app.kubernetes.io/name={_NAME}")

    def processes(self) -> list[Process]:
        """Measure each pod."""
        return [self._process(pod) for pod in self.pods()]

    def holders(self) -> dict[str, tuple[str, int]]:
        """Return the holder of each Lease, and its number of transitions."""
        return {
            name_of(lease): (
                str(lease["spec"].get("holderIdentity", "")),
                int(lease["spec"].get("leaseTransitions", 0)),
            )
            for lease in self.api.list(LEASE, NAMESPACE)
        }

    def _process(self, pod: Object) -> Process:
        status = pod["status"]["containerStatuses"][0]
        return Process(
            name_of(pod),
            int(status["restartCount"]),
            *self._memory(name_of(pod)),
        )

    def _memory(self, pod: str) -> tuple[float, float]:
        """Read peak and limit of the container's cgroup, version 1 or 2."""
        script = (
            "import pathlib as p;r=p.Path('/sys/fs/cgroup');"
            "v2=r/'memory.peak';v1=r/'memory'/'memory.max_usage_in_bytes';"
            "l2=r/'memory.max';l1=r/'memory'/'memory.limit_in_bytes';"
            "print(*(a.read_text().strip() if a.exists() else b.read_text().strip()"
            " for a,b in ((v2,v1),(l2,l1))))"
        )
        memory = self.rig.kubectl("exec", "-n", NAMESPACE, pod, "--", "python3", "-c", script)
        highest, limit = memory.split()
        return int(highest) / _MEGABYTE, int(limit) / _MEGABYTE


_NAME = OPERATOR_SELECTOR["app.kubernetes.io/name"]


@contextmanager
def install_without_policies(rig: Rig, api: Api) -> Iterator[InstalledOperator]:
    """Install the overlay without its admission policies, and uninstall it afterwards."""
    installation = Installation(rig.load_operator_image(), "IfNotPresent", IMAGE_REPOSITORY)
    objects = [
        obj
        for obj in operator_objects(render_overlay(rig, REPOSITORY, OVERLAY), installation)
        if obj["kind"] not in GUARDS
    ]
    apply = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    rig.kubectl(*apply, input=as_list(objects), timeout=120.0)
    operator = InstalledOperator(rig, api)
    names = [name_of(obj) for obj in objects if obj["kind"] == "Deployment"]
    try:
        for name in names:
            until(f"{name} is ready", partial(_is_ready, api, name), SECONDS)
        yield operator
    finally:
        for name in names:
            api.delete(DEPLOYMENT, NAMESPACE, name)
        until("the pods are gone", lambda: not operator.pods(), SECONDS)
        gone = as_list([obj for obj in objects if obj["kind"] not in KEPT])
        rig.kubectl("delete", "--ignore-not-found", "--wait=false", "-f", "-", input=gone)
        install(rig)


def _is_ready(api: Api, name: str) -> bool:
    deployment = api.find(DEPLOYMENT, NAMESPACE, name) or {}
    status = deployment.get("status") or {}
    return status.get("readyReplicas") == deployment["spec"]["replicas"] if deployment else False
