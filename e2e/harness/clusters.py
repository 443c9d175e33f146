"""One OpenBaoCluster under test: its status, and the objects that belong to it."""

from collections.abc import Sequence
from dataclasses import dataclass

from contracts.api.group import CLUSTERS
from contracts.naming import labels, names
from contracts.owned_kinds import OWNED
from e2e.harness.bao import AUDIENCE, Server
from e2e.harness.installation import ACCOUNT
from e2e.harness.installation import NAMESPACE as OPERATOR_NAMESPACE
from e2e.harness.kubernetes import Api, Object
from e2e.harness.waiting import ExpectationError, until
from e2e.rig import RigError
from runtime.builtin_kinds import (
    CONFIG_MAP,
    NETWORK_POLICY,
    POD,
    POD_DISRUPTION_BUDGET,
    PVC,
    ROLE,
    ROLE_BINDING,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    STATEFUL_SET,
)
from runtime.types import Resource, is_terminating, labels_of, uid_of

CHILDREN: tuple[Resource, ...] = (*OWNED, POD, PVC, SECRET)
OPERATOR_ROLE = "openbao-operator"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster by name; it does not have to exist."""

    api: Api
    namespace: str
    name: str

    def live(self) -> Object:
        """Read the object."""
        return self.api.get(CLUSTERS, self.namespace, self.name)

    def find(self) -> Object | None:
        """Read the object; None if it does not exist."""
        return self.api.find(CLUSTERS, self.namespace, self.name)

    def conditions(self) -> list[Object]:
        """Return its conditions; empty before the first reconcile."""
        live = self.find() or {}
        conditions: list[Object] = (live.get("status") or {}).get("conditions") or []
        return conditions

    def condition(self, kind: str, status: str, reason: str | None = None) -> Object | None:
        """Return a condition if it has this status and reason for the current generation."""
        live = self.find() or {}
        generation = (live.get("metadata") or {}).get("generation")
        for condition in (live.get("status") or {}).get("conditions") or ():
            fits = condition["type"] == kind and condition["status"] == status
            if (
                fits
                and reason in (None, condition["reason"])
                and condition["observedGeneration"] == generation
            ):
                return dict(condition)
        return None

    def await_condition(
        self, kind: str, status: str = "True", reason: str | None = None, *, seconds: float = 90.0
    ) -> Object:
        """Wait for a condition and return it; a failure lists all conditions."""
        what = " ".join(filter(None, (f"{self.namespace}/{self.name}", kind, status, reason)))
        try:
            return until(what, lambda: self.condition(kind, status, reason), seconds)
        except ExpectationError as error:
            raise ExpectationError(f"{error}\n{self.describe()}") from None

    def await_available(self, seconds: float = 90.0) -> Object:
        """Wait until all servers are ready and nothing is left to reconcile."""
        self.await_condition("Ready", seconds=seconds)
        return self.await_condition("Available", seconds=1.0)

    def describe(self) -> str:
        """Return all conditions as text, and the state and log of each pod that is not ready."""
        lines = [
            f"  {live['type']}={live['status']} {live['reason']}: {live['message']}"
            for live in self.conditions()
        ]
        for pod in self.pods():
            if not is_ready(pod):
                lines += self._describe_pod(pod)
        return "\n".join(lines)

    def _describe_pod(self, pod: Object) -> list[str]:
        name, status = str(pod["metadata"]["name"]), pod.get("status") or {}
        lines = [f"  pod {name}: {status.get('phase')} {status.get('containerStatuses')}"]
        for command in (
            ("logs", name, "--tail=30"),
            ("get", "events", f"--field-selector=involvedObject.name={name}"),
        ):
            try:
                output = self.api.rig.kubectl("-n", self.namespace, *command)
            except RigError as error:
                output = str(error)
            lines += [f"    {line}" for line in output.splitlines()]
        return lines

    def pods(self) -> list[Object]:
        """Return the server pods by name."""
        pods = self.api.list(POD, self.namespace, labels.selector_text(labels.voters(self.name)))
        return sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))

    def pod_uids(self) -> set[str]:
        """Return the UIDs of the server pods, to notice a replaced one."""
        return {uid_of(pod) for pod in self.pods()}

    def ready_pods(self) -> list[Object]:
        """Return the pods that are ready and not terminating."""
        return [pod for pod in self.pods() if is_ready(pod)]

    def leader(self) -> Object | None:
        """Return the pod that is labeled as the leader."""
        leading = [pod for pod in self.pods() if labels_of(pod).get(labels.SERVER_ACTIVE) == "true"]
        return leading[0] if len(leading) == 1 else None

    def server(self, which: int | str = 0) -> Server:
        """Return a client of one server, by ordinal or by the name of its pod."""
        return Server(self.api, self.namespace, self.name, which)

    def secret(self, name: str) -> Object | None:
        """Read one of its Secrets."""
        return self.api.find(SECRET, self.namespace, name)

    def belongings(self, resources: Sequence[Resource] = CHILDREN) -> set[tuple[str, str]]:
        """Return kind and name of all objects with the label of this cluster."""
        selector = f"{labels.CLUSTER}={self.name}"
        return {
            (resource.kind, str(obj["metadata"]["name"]))
            for resource in resources
            for obj in self.api.list(resource, self.namespace, selector)
        }

    @property
    def audience(self) -> str:
        """The audience of the tokens with which the operator logs in to this cluster."""
        return f"{AUDIENCE}/{self.namespace}/{self.name}"

    def operator_token(self, which: int | str = 0) -> str:
        """Log in as the operator and return the client token."""
        jwt = self.api.token(OPERATOR_NAMESPACE, ACCOUNT, self.audience)
        return self.server(which).login(OPERATOR_ROLE, jwt)

    def cluster_ids(self) -> set[str]:
        """Return the cluster ids that its servers report, of all StatefulSets."""
        pod_names = [str(pod["metadata"]["name"]) for pod in self.pods()]
        return {str(self.server(pod).health().get("cluster_id")) for pod in pod_names}


def is_ready(pod: Object) -> bool:
    """Whether a pod is Ready and not terminating."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    ready = any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )
    return ready and not is_terminating(pod)


def expected_belongings(
    name: str, *, replicas: int = 1, root_token: bool = False
) -> set[tuple[str, str]]:
    """Return kind and name of all objects of a new cluster."""
    account = names.service_account(name)
    objects = {
        (CONFIG_MAP.kind, names.config_map(name)),
        (NETWORK_POLICY.kind, names.jobs_network_policy(name)),
        (NETWORK_POLICY.kind, names.network_policy(name)),
        (ROLE.kind, names.role(account)),
        (ROLE_BINDING.kind, names.role_binding(account)),
        (SECRET.kind, names.tls_ca_secret(name)),
        (SECRET.kind, names.tls_server_secret(name)),
        (SECRET.kind, names.unseal_key_secret(name)),
        (SERVICE.kind, names.headless_service(name)),
        (SERVICE.kind, names.public_service(name)),
        (SERVICE.kind, names.active_service(name)),
        (SERVICE_ACCOUNT.kind, account),
        (STATEFUL_SET.kind, names.stateful_set(name)),
    }
    for ordinal in range(replicas):
        objects.add((POD.kind, names.pod(name, ordinal)))
        objects.add((PVC.kind, names.data_claim(name, ordinal)))
    if replicas >= 3:
        objects.add((POD_DISRUPTION_BUDGET.kind, names.pod_disruption_budget(name)))
    # The login of the operator always has a role for these Jobs.
    objects.add((SERVICE_ACCOUNT.kind, names.job_service_account(name, "upgrade")))
    if root_token:
        objects.add((SECRET.kind, names.root_token_secret(name)))
    return objects
