"""Permissions of the node in addition to those of the Node authorizer."""

from e2e.rig.kube import Object

BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


def node_rights() -> Object:
    """Allow the kubelet to read mounted objects, without the check that its node has the pods.

    The Node authorizer uses a watch to map objects to nodes. For a pod that is
    deleted and recreated immediately, the watch may be late: the kubelet is refused, and retries
    only after 15 seconds. Measurements would count this as time of the operator.
    """
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "rig:nodes"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "system:node"},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": "system:nodes"}],
    }
