"""The objects of a cluster as a file that baoctl upgrade plan reads."""

from typing import Any

import yaml

from runtime.types import Object
from tests import gen

OLD, NEW = "2.4.4", "2.5.5"
CLUSTER = (
    gen.cluster(version=OLD).initialized(OLD).with_status(release={"version": OLD}).with_login()
)
PODS = tuple(gen.pod(n).ready(leading=n == 1, version=OLD) for n in range(3))


def claim(ordinal: int, **status: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": f"data-x-{ordinal}",
            "namespace": gen.NAMESPACE,
            "uid": f"c{ordinal}",
            "labels": {"openbao.org/cluster": "x"},
        },
        "spec": {"resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, **status},
    }


def dump(cluster: gen.Cluster = CLUSTER, *, pods: tuple[gen.Pod, ...] = PODS) -> str:
    """The output of `kubectl get openbaocluster,sts,pods,pvc -o yaml`."""
    items = [cluster.object(), gen.stateful_set().with_replicas(3).object()]
    items += [{"apiVersion": "v1", "kind": "Pod", **pod.object()} for pod in pods]
    items += [claim(n) for n in range(3)]
    return yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items})
