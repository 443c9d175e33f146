"""One Datacenter under test: its status, and the objects that belong to it."""

from collections.abc import Callable
from dataclasses import dataclass

from contracts.api.group import API_VERSION, CLUSTERS
from contracts.datacenter import names
from contracts.datacenter.kinds import DATACENTER_KIND, DATACENTERS, WORKLOADS
from e2e.harness.installation import NAMESPACE, apply_rights
from e2e.harness.kubernetes import Api, ApiError, Object, missing_ok
from e2e.harness.modes import CLUSTER_BINDING
from e2e.harness.waiting import until
from e2e.rig import Rig
from e2e.rig.kube import wait_established
from e2e.rig.paths import REPOSITORY
from runtime.builtin_kinds import (
    CONFIG_MAP,
    DAEMON_SET,
    DEPLOYMENT,
    EVENT,
    POD,
    PVC,
    SECRET,
    SERVICE,
    STATEFUL_SET,
)
from runtime.types import labels_of, uid_of

ON = {"DATACENTERS": "true"}
"""The environment of an operator that reconciles datacenters."""
CLUSTER_ROLE = "openbao-operator-datacenters"
WORKLOAD_KINDS = (DAEMON_SET, DEPLOYMENT, STATEFUL_SET)
MADE = (CLUSTERS, CONFIG_MAP, DAEMON_SET, DEPLOYMENT, PVC, SECRET, SERVICE, STATEFUL_SET, POD)
_KINDS = ("bootstrapservicesets", "bootstrapworkloads", "datacenters")
# Objects that Kubernetes creates in every namespace.
_OF_KUBERNETES = ("kube-root-ca.crt",)


def install_datacenters(rig: Rig) -> None:
    """Apply the three CRDs, and the RBAC of the operator for them."""
    folder = REPOSITORY / "config" / "crd"
    files = [part for kind in _KINDS for part in ("-f", str(folder / f"openbao.org_{kind}.yaml"))]
    rig.kubectl("apply", "--server-side", *files)
    wait_established(rig.kubectl, *files)
    apply_rights(rig, "datacenters")


def allow_datacenters(api: Api, account: str) -> None:
    """Grant the permissions for datacenters to another ServiceAccount of the operator."""
    body = {
        "metadata": {"name": f"{account}-datacenters"},
        "roleRef": {
            "apiGroup": CLUSTER_BINDING.group,
            "kind": "ClusterRole",
            "name": CLUSTER_ROLE,
        },
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}],
    }
    try:
        api.create(CLUSTER_BINDING, body)
    except ApiError as error:
        # A kept rig has it from the last session.
        if error.code != 409:
            raise


@dataclass(frozen=True, slots=True)
class DatacenterUnderTest:
    """A datacenter by name; it does not have to exist."""

    api: Api
    name: str
    namespace: str

    def create(self, *services: Object, **spec: object) -> None:
        """Create it with these services in its spec."""
        body = {"namespace": self.namespace, "bootstrapServices": list(services), **spec}
        self.api.create(
            DATACENTERS,
            {
                "apiVersion": API_VERSION,
                "kind": DATACENTER_KIND,
                "metadata": {"name": self.name},
                "spec": body,
            },
        )

    def change(self, **spec: object) -> None:
        """Merge a change into its spec."""
        self.api.patch(DATACENTERS, None, self.name, {"spec": spec})

    def live(self) -> Object:
        """Read the object."""
        return self.api.get(DATACENTERS, None, self.name)

    def condition(self, kind: str, status: str, reason: str = "") -> Object | None:
        """Return a condition if it has this status and reason for the current generation."""
        live = self.live()
        generation = live["metadata"]["generation"]
        for condition in (live.get("status") or {}).get("conditions") or ():
            fits = condition["type"] == kind and condition["status"] == status
            if (
                fits
                and reason in ("", condition["reason"])
                and condition["observedGeneration"] == generation
            ):
                return dict(condition)
        return None

    def await_condition(
        self, kind: str, status: str, reason: str = "", seconds: float = 90.0
    ) -> Object:
        """Wait for a condition; a failure has the full status."""

        def matching_condition() -> Object | None:
            return self.condition(kind, status, reason)

        try:
            return until(f"condition {kind} is {status} {reason}", matching_condition, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.describe()}") from error

    def await_running(self, seconds: float = 120.0) -> None:
        """Wait until all services run as in the current spec."""
        self.await_condition("Ready", "True", "AllRunning", seconds)

    def describe(self) -> str:
        """Return the status of the datacenter and of its service records."""
        lines = [str(self.live().get("status"))]
        return "\n".join(
            [*lines, *(f"{name}: {workload.get('status')}" for name, workload in self.workloads())]
        )

    def workloads(self) -> list[tuple[str, Object]]:
        """Return its BootstrapWorkloads by service name."""
        workloads = self.api.list(WORKLOADS, None, f"{names.DATACENTER}={self.name}")
        return sorted((workload["spec"]["service"]["name"], workload) for workload in workloads)

    def workload(self, service: str) -> Object:
        """Read one BootstrapWorkload."""
        return self.api.get(WORKLOADS, None, names.workload_name(self.name, service))

    def state(self, service: str) -> str:
        """The state of one service; "" without a BootstrapWorkload."""
        workload = self.api.find(WORKLOADS, None, names.workload_name(self.name, service))
        return str(((workload or {}).get("status") or {}).get("state", ""))

    def child(self, service: str) -> str:
        """The name of the objects of a service."""
        return names.object_name(self.name, service)

    def belongings(self) -> set[str]:
        """All objects in its namespace that Kubernetes did not create."""
        return {
            f"{kind.kind} {obj['metadata']['name']}"
            for kind in MADE
            for obj in self.api.list(kind, self.namespace)
            if obj["metadata"]["name"] not in _OF_KUBERNETES
        }

    def identities(self) -> dict[str, str]:
        """The UIDs of its BootstrapWorkloads and their workloads, by kind and name."""
        workloads = {
            f"{WORKLOADS.kind} {workload['metadata']['name']}": uid_of(workload)
            for _, workload in self.workloads()
        }
        children = {
            f"{kind.kind} {obj['metadata']['name']}": uid_of(obj)
            for kind in WORKLOAD_KINDS
            for obj in self.api.list(kind, self.namespace)
        }
        return workloads | children

    def event_reasons(self, service: str = "") -> list[str]:
        """The reasons of all events about it or about one of its services, with duplicates."""
        about = names.workload_name(self.name, service) if service else self.name
        # The namespace of events about objects without a namespace.
        events = self.api.list(EVENT, "default")
        return sorted(event["reason"] for event in events if event["regarding"]["name"] == about)

    def pods(self, service: str) -> list[Object]:
        """The pods of a service."""
        return [
            pod
            for pod in self.api.list(POD, self.namespace)
            if labels_of(pod).get(names.BOOTSTRAP) == service
        ]

    def uids(self, service: str) -> set[str]:
        """The UIDs of the pods of a service."""
        return set(map(uid_of, self.pods(service)))

    def delete(self) -> None:
        """Delete it, without waiting."""
        self.api.delete(DATACENTERS, None, self.name)

    def await_gone(self, seconds: float = 90.0) -> None:
        """Wait until it and all its BootstrapWorkloads are deleted."""
        until("its BootstrapWorkloads are gone", lambda: not self.workloads(), seconds)
        until(
            "the datacenter is gone",
            lambda: self.api.find(DATACENTERS, None, self.name) is None,
            seconds,
        )


def cleanup_of(api: Api, datacenter: DatacenterUnderTest) -> Callable[[], None]:
    """Return a cleanup that deletes a datacenter even if no operator runs."""

    def clean_up() -> None:
        free = {"metadata": {"finalizers": None}}
        with missing_ok():
            datacenter.delete()
        for _, workload in datacenter.workloads():
            with missing_ok():
                api.delete(WORKLOADS, None, workload["metadata"]["name"])
            with missing_ok():
                api.patch(WORKLOADS, None, workload["metadata"]["name"], free)
        with missing_ok():
            api.patch(DATACENTERS, None, datacenter.name, free)

    return clean_up
