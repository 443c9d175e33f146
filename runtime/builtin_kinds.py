"""The built-in kinds that this repository uses.

Pure data; the layer that owns a custom resource defines its kind.
"""

from runtime.types import Resource

CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps")
CORE_EVENT = Resource("", "v1", "Event", "events")
"""The events of EVENT with other field names; the ClusterRole view contains only this group."""
NAMESPACE = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
POD = Resource("", "v1", "Pod", "pods")
PVC = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
SECRET = Resource("", "v1", "Secret", "secrets")
SERVICE = Resource("", "v1", "Service", "services")
SERVICE_ACCOUNT = Resource("", "v1", "ServiceAccount", "serviceaccounts")

DAEMON_SET = Resource("apps", "v1", "DaemonSet", "daemonsets")
DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments")
STATEFUL_SET = Resource("apps", "v1", "StatefulSet", "statefulsets")
JOB = Resource("batch", "v1", "Job", "jobs")
LEASE = Resource("coordination.k8s.io", "v1", "Lease", "leases")
ENDPOINT_SLICE = Resource("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
EVENT = Resource("events.k8s.io", "v1", "Event", "events")
INGRESS = Resource("networking.k8s.io", "v1", "Ingress", "ingresses")
NETWORK_POLICY = Resource("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")
POD_DISRUPTION_BUDGET = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
ROLE = Resource("rbac.authorization.k8s.io", "v1", "Role", "roles")
ROLE_BINDING = Resource("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")
ADMISSION_POLICY = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    namespaced=False,
)
ADMISSION_BINDING = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    namespaced=False,
)
