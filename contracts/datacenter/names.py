"""Names and labels of the objects of a datacenter.

Uses contracts.naming.labels, and not the models, so that a verb of the command line can import it
before its first request. Called by managers.datacenter and baoctl.commands.datacenter.
"""

from __future__ import annotations

from hashlib import sha256

from contracts.naming import labels
from contracts.naming.names import CLUSTER_NAME_MAX

SYSTEM = "openbao.org/system"
DATACENTER = "openbao.org/datacenter"
BOOTSTRAP = "openbao.org/bootstrap"
# On the pod template: the token of the last redeploy request.
REDEPLOY = "openbao.org/redeploy"
# On the pod template: a digest of the configuration files.
FILES = "openbao.org/files-hash"
# On the workload of a service: the digest of the spec that it was created from.
DESIRED_HASH = "openbao.org/wish"
DATACENTER_FINALIZER = "openbao.org/datacenter-finalizer"
WORKLOAD_FINALIZER = "openbao.org/bootstrapworkload-finalizer"
DIGITS = 8
NAME_PATTERN = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"
"""Pattern of the names of services, containers and datacenters."""
OPENBAO_READY = "openbao:ready"
"""The dependency on all OpenBaoClusters of the datacenter."""


def workload_name(datacenter: str, service: str) -> str:
    """The name of a BootstrapWorkload, at most 253 characters."""
    return f"{datacenter}.{service}"


def object_name(datacenter: str, service: str) -> str:
    """The name of the objects of a service in the namespace of its datacenter.

    <datacenter>-<service>, because two datacenters may share a namespace. It ends in a digest if it
    is longer than the name of a cluster may be, since names of pods append to it, or if it is
    ambiguous, such as a-b/c and a/b-c.
    """
    whole = f"{datacenter}-{service}"
    if "-" not in datacenter and "." not in datacenter and len(whole) <= CLUSTER_NAME_MAX:
        return whole
    digest = sha256(f"{datacenter}/{service}".encode()).hexdigest()[:DIGITS]
    stem = whole.replace(".", "-")[: CLUSTER_NAME_MAX - DIGITS - 1].rstrip("-")
    return f"{stem}-{digest}"


def files_config_map(name: str) -> str:
    """The ConfigMap with the files of a service; `name` is that of its objects."""
    return f"{name}-files"


def openbao_config_map(name: str) -> str:
    """The ConfigMap that describes the vaults to a service; `name` is that of its objects."""
    return f"{name}-openbao"


def file_key(container: str, path: str) -> str:
    """The ConfigMap key of a file of a container: keys may not have all characters of paths."""
    return f"{container}-{sha256(path.encode()).hexdigest()[: 2 * DIGITS]}"


def service_port_name(container: str, name: str) -> str:
    """The name of a port of a Service, where two containers have a port of the same name."""
    return f"{container}-{name}"


def ca_secret_key(service: str) -> str:
    """The key that names the Secret with the CA of a vault to its dependents."""
    return f"{service}.ca-secret"


def selector_labels(datacenter: str, service: str) -> labels.Labels:
    """The labels of objects and pods that users cannot override; also the selector of the pods."""
    return {SYSTEM: "true", DATACENTER: datacenter, BOOTSTRAP: service}


def object_labels(datacenter: str, service: str, users: labels.Labels) -> labels.Labels:
    """The labels of an object: those of the user, overridden by those of the operator.

    Pods have the labels of the user and of `selector_labels`, but not those of the operator, by
    which it finds the servers of clusters.
    """
    ours = {
        labels.MANAGED_BY: labels.OPERATOR,
        labels.NAME: service,
        labels.INSTANCE: datacenter,
    }
    return {**labels.users_own(users), **ours, **selector_labels(datacenter, service)}
