"""Valid services, and the objects that contain them."""

from typing import Any

from contracts.api.group import API_VERSION
from contracts.datacenter.kinds import DATACENTER_KIND, SERVICE_SET_KIND, WORKLOAD_KIND
from contracts.datacenter.names import workload_name

Object = dict[str, Any]

IMAGE = "registry.example.com/shipper:3.1.2"
VAULT_SPEC: Object = {"version": "2.4.0", "storage": {"size": "1Gi"}}


def _without_none(fields: Object) -> Object:
    return {key: value for key, value in fields.items() if value is not None}


def part(name: str = "main", **fields: Any) -> Object:
    """A container; None removes a field."""
    return _without_none({"name": name, "image": IMAGE, **fields})


def helper(name: str, role: str = "Sidecar", **fields: Any) -> Object:
    """A container next to the Main container."""
    return part(name, role=role, **fields)


def service(name: str | None = "log-shipper", **fields: Any) -> Object:
    """A Deployment of one container; None removes a field."""
    return _without_none({"name": name, "services": [part()], **fields})


def with_main(**fields: Any) -> Object:
    """A Deployment whose container has these fields."""
    return service(services=[part(**fields)])


def with_parts(*helpers: Object) -> Object:
    """A Deployment with more containers."""
    return service(services=[part(), *helpers])


def stateful(*volumes: Object) -> Object:
    """A StatefulSet with volumes."""
    return service(kind="StatefulSet", services=[part(volumes=list(volumes))])


def on_each_node(*volumes: Object, **fields: Any) -> Object:
    """A DaemonSet with volumes."""
    return service(kind="DaemonSet", services=[part(volumes=list(volumes))], **fields)


def objects(*bodies: Object, name: str = "definitions", **fields: Any) -> Object:
    """A service of kind Objects."""
    return _without_none({"name": name, "kind": "Objects", "objects": list(bodies), **fields})


def cluster_role(name: str = "reader", **fields: Any) -> Object:
    """An object of a kind that the operator does not know."""
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    api_version = "rbac.authorization.k8s.io/v1"
    metadata = {"name": name}
    cluster_role = {
        "apiVersion": api_version,
        "kind": "ClusterRole",
        "metadata": metadata,
        "rules": rules,
    }
    return _without_none({**cluster_role, **fields})


def vault(name: str = "vault", **fields: Any) -> Object:
    """A service of kind OpenBaoCluster; None removes a field."""
    return _without_none({"name": name, "kind": "OpenBaoCluster", "openbao": VAULT_SPEC, **fields})


def _object(kind: str, name: str, spec: Object) -> Object:
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": {"name": name},
        "spec": _without_none(spec),
    }


def datacenter_object(*services: Object, name: str = "fra1", **spec: Any) -> Object:
    """A Datacenter that declares these services; None removes a field of its spec."""
    whole = {"namespace": "dc-fra1", "bootstrapServices": list(services), **spec}
    return _object(DATACENTER_KIND, name, whole)


def set_object(*services: Object, name: str = "logging", **spec: Any) -> Object:
    """A BootstrapServiceSet of these services."""
    return _object(SERVICE_SET_KIND, name, {"services": list(services), **spec})


def workload_object(body: Object, datacenter: str = "fra1", name: str | None = None) -> Object:
    """The BootstrapWorkload of a service."""
    spec = {
        "datacenter": datacenter,
        "namespace": "dc-fra1",
        "provider": "kubernetes",
        "source": {"name": "declared"},
        "service": body,
        "digest": "d",
    }
    return _object(WORKLOAD_KIND, name or workload_name(datacenter, str(body.get("name"))), spec)
