"""CEL for the user of a request: accounts of this installation, and components of Kubernetes.

Called by the modules of this package. A name that the parameters lack matches no user, so that
incomplete parameters do not make every request fail.
"""

from typing import Final

from contracts.api.group import GROUP

NAMESPACE: Final = "params.metadata.namespace"


def account_name(key: str) -> str:
    """Return the name of an account of this installation, by its key in the parameters."""
    return f"params.metadata.?annotations[?'{GROUP}/{key}'].orValue('')"


def account(key: str) -> str:
    """Return the user name of an account of this installation, by its key in the parameters."""
    return f"('system:serviceaccount:' + {NAMESPACE} + ':' + {account_name(key)})"


def requested_by(*keys: str) -> str:
    """CEL: whether the request comes from one of these accounts."""
    return " || ".join(f"request.userInfo.username == {account(key)}" for key in keys)


IS_CONTROLLER: Final = requested_by("controller")
IS_PROVISIONER: Final = requested_by("provisioner", "delegate")

_COMPONENTS: Final = (
    "system:apiserver",
    "system:cloud-controller-manager",
    "system:kube-controller-manager",
    "system:kube-scheduler",
)
_GROUPS: Final = ("system:nodes", "system:serviceaccounts:kube-system")

# Not by the name of each controller: distributions run controllers as separate users (k3s, EKS), as
# ServiceAccounts (kubeadm), or all as one user.
IS_KUBERNETES: Final = (
    f"request.userInfo.username in {list(_COMPONENTS)!r} || "
    f"request.userInfo.?groups.orValue([]).exists(group, group in {list(_GROUPS)!r})"
)
"""A controller, the scheduler or a node. The policies restrict them to the changes that they
make."""
