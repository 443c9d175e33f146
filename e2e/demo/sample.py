"""The cluster of config/samples/quickstart.yaml: its names, and how to apply and delete it."""

import copy
import time
from dataclasses import dataclass
from typing import Any

import orjson

from contracts.naming import labels
from e2e.demo.api import Api
from e2e.demo.errors import DemoError
from e2e.demo.install import REPOSITORY, apply
from e2e.demo.kubectl import Kubectl
from e2e.demo.manifests import documents, one_of_kind
from e2e.demo.objects import Object, by_name, name_of, status_of
from e2e.demo.progress import pod_state
from e2e.demo.screen import Screen

SAMPLE = REPOSITORY / "config" / "samples" / "quickstart.yaml"
# Annotation of the objects that a demo created; the next one may delete them.
CREATED_ANNOTATION = "demo.openbao.org/made"
REMOVE_SECONDS = 150.0
_POLL_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Sample:
    """The documents of the sample, by kind."""

    namespace: Object
    account: Object
    cluster: Object

    @classmethod
    def load(cls) -> "Sample":
        """Read the file. Raises DemoError if it has other documents than these three."""
        manifests = documents(SAMPLE.read_text())
        kinds = ("Namespace", "ServiceAccount", "OpenBaoCluster")
        namespace, account, cluster = (one_of_kind(manifests, kind) for kind in kinds)
        if len(manifests) != len(kinds):
            raise DemoError(
                f"{SAMPLE.name} holds {len(manifests)} documents instead of {len(kinds)}"
            )
        return cls(namespace, account, cluster)

    @property
    def home(self) -> str:
        """The name of the namespace."""
        return name_of(self.namespace)

    @property
    def name(self) -> str:
        """The name of the cluster."""
        return name_of(self.cluster)

    @property
    def application(self) -> str:
        """The ServiceAccount of the application, and the name of its role in OpenBao."""
        return name_of(self.account)

    @property
    def replicas(self) -> int:
        """The number of servers."""
        return int(self.cluster["spec"]["replicas"])

    @property
    def path(self) -> str:
        """The path of the cluster in the API."""
        return cluster_path(self.home, self.name)


def cluster_path(namespace: str, name: str = "") -> str:
    """Return the API path of one cluster, or of all in a namespace."""
    path = f"/apis/openbao.org/v1alpha1/namespaces/{namespace}/openbaoclusters"
    return f"{path}/{name}" if name else path


def with_mark(obj: Object) -> Object:
    """Return a copy that is marked as created by the demo."""
    copy_ = copy.deepcopy(obj)
    copy_["metadata"].setdefault("annotations", {})[CREATED_ANNOTATION] = "true"
    return copy_


def is_marked(obj: Object) -> bool:
    """Whether it is marked as created by the demo."""
    annotations: dict[str, Any] = obj["metadata"].get("annotations") or {}
    return annotations.get(CREATED_ANNOTATION) == "true"


def prepare_namespace(kubectl: Kubectl, api: Api, namespace: Object) -> None:
    """Apply a namespace; it is marked unless it already existed."""
    live = api.find(f"/api/v1/namespaces/{name_of(namespace)}")
    ours = live is None or is_marked(live)
    apply(kubectl, [with_mark(namespace) if ours else namespace])


def remove(kubectl: Kubectl, api: Api, home: str, name: str, screen: Screen) -> bool:
    """Delete the cluster of an earlier demo with volumes and keys; True if there was one.

    Raises DemoError if there is a cluster without the annotation, or if it is not deleted in time.
    """
    live = api.find(cluster_path(home, name))
    if live is not None:
        if not is_marked(live):
            raise DemoError(
                f"OpenBaoCluster {home}/{name} exists and was not created by a demo, so it is not "
                f"deleted. To delete it: kubectl -n {home} delete openbaocluster {name}"
            )
        delete(kubectl, api, live, "DeleteAll", screen)
        screen.say(f"removed cluster {name} of an earlier demo, with its volumes and keys")
    left = [label for label, _ in _volumes_and_secrets(api, home, name)]
    if not left:
        return live is not None
    space = api.find(f"/api/v1/namespaces/{home}")
    if live is None and (space is None or not is_marked(space)):
        raise DemoError(
            f"namespace {home} contains {', '.join(left)} of a cluster {name} that was not created "
            "by a demo, so they are not deleted. Delete them to run the demo"
        )
    selector = f"{labels.CLUSTER}={name}"
    screen.waiting(f"deleting {', '.join(left)}")
    kubectl("delete", "pvc,secret", "-n", home, "-l", selector, "--timeout=60s", timeout=70.0)
    screen.waiting("")
    return True


def delete(kubectl: Kubectl, api: Api, cluster: Object, policy: str, screen: Screen) -> None:
    """Delete a cluster with a deletion policy and wait until it is deleted. Raises DemoError."""
    home, name = cluster["metadata"]["namespace"], name_of(cluster)
    which = ("openbaocluster", name, "-n", home)
    if "deletionTimestamp" not in cluster["metadata"]:
        patch = orjson.dumps({"spec": {"deletionPolicy": policy}}).decode()
        kubectl("patch", *which, "--type=merge", "-p", patch)
        kubectl("delete", *which, "--wait=false")
    until = time.monotonic() + REMOVE_SECONDS
    while (state := _deletion_state(api, home, name)) is not None:
        if time.monotonic() > until:
            raise DemoError(f"cluster {name} was not deleted after {REMOVE_SECONDS:.0f} s: {state}")
        screen.waiting(state)
        time.sleep(_POLL_SECONDS)
    screen.waiting("")


def _deletion_state(api: Api, home: str, name: str) -> str | None:
    live = api.find(cluster_path(home, name))
    selector = f"labelSelector={labels.CLUSTER}%3D{name}"
    pods = by_name(api.items(f"/api/v1/namespaces/{home}/pods?{selector}"))
    # Pods of completed Jobs are kept for their logs.
    pods = [pod for pod in pods if status_of(pod).get("phase") not in ("Succeeded", "Failed")]
    words = [f"{name_of(pod)} {pod_state(pod)}" for pod in pods]
    if live is None and not words:
        # Kubernetes deletes them after their owner; until then admission policies protect them.
        objects = _volumes_and_secrets(api, home, name)
        words = [label for label, obj in objects if _is_owned(obj, name)]
        if not words:
            return None
    return "; ".join([f"cluster {name} is being deleted", *words])


def _volumes_and_secrets(api: Api, home: str, name: str) -> list[tuple[str, Object]]:
    selector = f"labelSelector={labels.CLUSTER}%3D{name}"
    kinds = (("persistentvolumeclaims", "volume claim"), ("secrets", "Secret"))
    return [
        (f"{word} {name_of(item)}", item)
        for plural, word in kinds
        for item in api.items(f"/api/v1/namespaces/{home}/{plural}?{selector}")
    ]


def _is_owned(obj: Object, cluster: str) -> bool:
    owners = obj["metadata"].get("ownerReferences") or ()
    return any((owner["kind"], owner["name"]) == ("OpenBaoCluster", cluster) for owner in owners)
