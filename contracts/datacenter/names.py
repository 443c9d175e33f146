"""Names and labels of what is made for a datacenter.

Uses contracts.naming.labels. Called by managers.datacenter.
"""

from __future__ import annotations

from hashlib import sha256

from contracts.naming import labels
from contracts.naming.names import CLUSTER_NAME_MAX

SYSTEM = "openbao.org/system"
DATACENTER = "openbao.org/datacenter"
BOOTSTRAP = "openbao.org/bootstrap"
# On the template of pods: the order to replace them.
REDEPLOY = "openbao.org/redeploy"
# On the template of pods: a digest of the files that they read.
FILES = "openbao.org/files-hash"
# On the object that runs a service: the digest of the spec that it was created from.
DESIRED_HASH = "openbao.org/wish"
DATACENTER_FINALIZER = "openbao.org/datacenter-finalizer"
WORKLOAD_FINALIZER = "openbao.org/bootstrapworkload-finalizer"
DIGITS = 8


def workload_name(datacenter: str, service: str) -> str:
    """The name of a BootstrapWorkload, at most 253 characters."""
    return f"{datacenter}.{service}"


def child(datacenter: str, service: str) -> str:
    """The name of the objects of a service in the namespace of its datacenter.

    Both parts, with a digest when that is longer than what a cluster may be called: two datacenters
    may share a namespace, and pods of a StatefulSet carry this name with more behind it. Also with
    one where the plain form would be that of another pair, such as a-b/c and a/b-c.
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


def file_key(part: str, path: str) -> str:
    """The key of a file of a container in the ConfigMap: paths hold characters that keys do not."""
    return f"{part}-{sha256(path.encode()).hexdigest()[: 2 * DIGITS]}"


def port(part: str, name: str) -> str:
    """The name of a port of a Service, where two containers have a port of the same name."""
    return f"{part}-{name}"


def authority_key(service: str) -> str:
    """The key that names the Secret with the CA of a vault to its dependents."""
    return f"{service}.ca-secret"


def marks(datacenter: str, service: str) -> labels.Labels:
    """The labels that no user overrides, for objects and pods alike; the selector of the pods."""
    return {SYSTEM: "true", DATACENTER: datacenter, BOOTSTRAP: service}


def child_labels(datacenter: str, service: str, users: labels.Labels) -> labels.Labels:
    """The labels of an object: the users' own, and over them those of the operator.

    Pods carry `marks` and the users' labels, but not those of this operator's own objects: servers
    are found by them.
    """
    ours = {
        labels.MANAGED_BY: labels.OPERATOR,
        labels.NAME: service,
        labels.INSTANCE: datacenter,
    }
    return {**labels.users_own(users), **ours, **marks(datacenter, service)}
