"""Rights that the node gets beside those of the Node authorizer."""

from e2e.rig.kube import Object

BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


def node_rights() -> Object:
    """Let the kubelet read what its pods mount without asking whether they are its pods.

    The Node authorizer learns from a watch which objects belong to a node. A pod that is deleted
    and made anew at once can be ahead of it: the kubelet is refused, and asks again only after 15
    seconds. That would be measured as time of the operator.
    """
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "rig:nodes"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "system:node"},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": "system:nodes"}],
    }
