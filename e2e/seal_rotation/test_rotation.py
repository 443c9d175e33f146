"""Three servers change to the next unseal key; one of them crashes during the rotation."""

import os
import signal
from dataclasses import dataclass

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import labels, names
from e2e.conftest import MakeNamespace
from e2e.harness.bao import AUDIENCE, BaoError
from e2e.harness.clusters import Cluster, is_ready
from e2e.harness.kubernetes import Api, ApiError, Object
from e2e.harness.manifests import CLIENT, SECRETS, client_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.server_process import server_pid
from e2e.harness.waiting import Stopwatch, until
from runtime.builtin_kinds import POD, SECRET, SERVICE_ACCOUNT
from runtime.types import annotations_of

NAME = "turning"
OLD, NEW = "operator-generated-v1", "second"
OLD_KEYRING, NEW_KEYRING = f"{OLD}=key", f"{NEW}=key-2"
# The keys of a server, in the order of the rotation.
KEYRINGS = [
    OLD_KEYRING,
    f"{OLD_KEYRING},{NEW_KEYRING}",
    f"{NEW_KEYRING},{OLD_KEYRING}",
    NEW_KEYRING,
]
# Three rollouts of three servers, one server at a time.
ROTATED = 420.0
BACK = 180.0


@dataclass(frozen=True, slots=True)
class Rotation:
    """The cluster, and the token of a client that wrote a secret into it."""

    cluster: Cluster
    token: str

    def read(self) -> object:
        """Read the secret from the first server."""
        answer = self.cluster.server(0).get(f"{SECRETS}/kept", self.token)
        return answer["data"]

    def step(self) -> tuple[str, str]:
        """Return keys and step of the status."""
        unseal = (self.cluster.live().get("status") or {}).get("unseal") or {}
        return unseal.get("keys", ""), unseal.get("step", "")

    def request_key(self, key: str) -> None:
        """Set the current key in the spec."""
        change = {"spec": {"unseal": {"static": {"currentKeyID": key}}}}
        self.cluster.api.patch(CLUSTERS, self.cluster.namespace, NAME, change)


@pytest.fixture(scope="module")
def rotation(api: Api, operator: Operator, make_namespace: MakeNamespace) -> Rotation:
    namespace = make_namespace()
    api.create(SERVICE_ACCOUNT, {"metadata": {"name": CLIENT, "namespace": namespace}})
    requests = self_init(key_value_engine(), *client_login(namespace))
    api.create(CLUSTERS, manifest(namespace, NAME, replicas=3, selfInit=requests))
    cluster = Cluster(api, namespace, NAME)
    cluster.await_available(180.0)
    cluster.await_condition("RaftMembershipReady", seconds=60.0)
    token = cluster.server(0).login(CLIENT, api.token(namespace, CLIENT, AUDIENCE))
    cluster.server(0).post(f"{SECRETS}/kept", token, {"a": "before"})
    return Rotation(cluster, token)


@pytest.mark.timeout(900)
def test_every_server_changes_to_the_new_key_despite_a_crash(rotation: Rotation) -> None:
    assert rotation.step() == (OLD_KEYRING, "Settled")
    watch, key_ids, away, crashed = Stopwatch(), {OLD_KEYRING}, 0, ""
    rotation.request_key(NEW)

    def has_arrived() -> bool:
        nonlocal away, crashed
        pods = rotation.cluster.pods()
        keyrings = {keyring(pod) for pod in pods}
        key_ids.update(keyrings)
        if not crashed:
            away = max(away, 3 - sum(map(is_ready, pods)))
            crashed = _crash_an_older_server(pods)
        return rotation.step() == (NEW_KEYRING, "Settled") and keyrings == {NEW_KEYRING}

    until("every server has only the new key", has_arrived, ROTATED, every=0.2)
    print(f"\nrotated after {watch.seconds:.1f} s; {crashed} crashed during the rotation")
    rotation.cluster.await_available(BACK)
    assert key_ids == set(KEYRINGS)
    assert crashed, "no server with the older keys could be killed"
    assert away <= 1, "two servers were not ready before the crash"
    assert until("the secret is read", rotation.read, 30.0, tolerate=(OSError, BaoError)) == {
        "a": "before"
    }


def test_the_id_of_an_older_key_is_refused_and_no_pod_is_replaced(rotation: Rotation) -> None:
    before = rotation.cluster.pod_uids()
    rotation.request_key(OLD)
    stalled = rotation.cluster.await_condition("Stalled", reason="UnsealKeyRotationRefused")
    assert f"{OLD} is the id of an older key" in stalled["message"]
    rotation.request_key(NEW)
    rotation.cluster.await_condition("Ready")
    assert rotation.cluster.pod_uids() == before


@pytest.mark.timeout(600)
def test_every_server_unseals_without_the_old_key_after_a_power_failure(rotation: Rotation) -> None:
    cluster = rotation.cluster
    old = names.unseal_key_secret(NAME)
    assert cluster.secret(old) is not None, "the operator deleted the old key"
    cluster.api.delete(SECRET, cluster.namespace, old)
    before = cluster.pod_uids()
    for pod in cluster.pods():
        cluster.api.delete(POD, cluster.namespace, pod["metadata"]["name"])

    def are_replaced() -> bool:
        pods = cluster.pods()
        new = not before & {pod["metadata"]["uid"] for pod in pods}
        return new and len(pods) == 3 and all(map(is_ready, pods))

    until("three new pods are ready", are_replaced, BACK, tolerate=(ApiError,))
    cluster.await_condition("Ready", seconds=BACK)
    secret = until("the secret is read", rotation.read, 60.0, tolerate=(OSError, BaoError))
    assert secret == {"a": "before"}


def keyring(pod: Object) -> str:
    """Return the keys of the server of a pod."""
    return annotations_of(pod).get(labels.UNSEAL_KEYS, "")


def _crash_an_older_server(pods: "list[Object]") -> str:
    """Kill a server with the second keyring, if another server already has the third.

    Its container restarts in the older pod, with the newest config.hcl. Returns the name of the
    pod, "" if no server was killed.
    """
    older = [pod for pod in pods if keyring(pod) == KEYRINGS[1] and is_ready(pod)]
    if not older or not any(keyring(pod) == KEYRINGS[2] for pod in pods):
        return ""
    name = str(older[0]["metadata"]["name"])
    pid = server_pid(str(older[0]["metadata"]["namespace"]), name)
    if pid is None:
        return ""
    os.kill(pid, signal.SIGKILL)
    return name
