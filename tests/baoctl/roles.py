"""Requests of a user whose role lacks rights, as a real API server refuses them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from contracts.admission.user_roles import USUAL
from contracts.rbac.rules import rules
from runtime.client.transport import HttpRequest
from runtime.testing.api_server.answers import RefusedAnswer
from runtime.testing.api_server.faults import Fault, FaultKind

Rule = Mapping[str, Any]
_READS = ["get", "list", "watch"]
OPERATOR_VIEW: Final[tuple[Rule, ...]] = tuple(
    rules(next(role for role in USUAL if role.name == "view").rights)
)
"""The rules of the ClusterRole openbao-operator-view."""
KUBERNETES_VIEW: Final[tuple[Rule, ...]] = tuple(
    {"apiGroups": [group], "resources": resources, "verbs": _READS}
    for group, resources in (
        ("", ["configmaps", "events", "persistentvolumeclaims", "pods", "pods/log"]),
        ("", ["serviceaccounts", "services"]),
        ("apps", ["deployments", "statefulsets"]),
        ("batch", ["jobs"]),
        ("networking.k8s.io", ["ingresses", "networkpolicies"]),
        ("policy", ["poddisruptionbudgets"]),
    )
)
"""The rules of the ClusterRole view of Kubernetes 1.36 that concern the kinds of a cluster."""


@dataclass(frozen=True, slots=True)
class _Denial(Fault):
    message: str = ""

    def refusal(self) -> RefusedAnswer:
        """The response of the API server."""
        return RefusedAnswer(403, "Forbidden", self.message)


class RoleOf:
    """Refuses requests as if a RoleBinding in the namespace `default` were the only one."""

    def __init__(self, role: Iterable[Rule]) -> None:
        self._rules = tuple(role)

    def next(self, call: HttpRequest) -> Fault | None:
        """Refuse, or let the request pass."""
        if not call.path.startswith(("/api/", "/apis/")):
            return None
        group, namespace, resource, verb = _attributes(call)
        if namespace == "default" and any(
            group in rule["apiGroups"] and resource in rule["resources"] and verb in rule["verbs"]
            for rule in self._rules
        ):
            return None
        scope = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
        text = f'User "u" cannot {verb} resource "{resource}" in API group "{group}" {scope}'
        return _Denial(FaultKind.INTERNAL, message=f"{resource} is forbidden: {text}")


def _attributes(call: HttpRequest) -> tuple[str, str, str, str]:
    """Return group, namespace, resource and verb of a request."""
    _, root, *words = call.path.split("/")
    group = words[0] if root == "apis" else ""
    words = words[2 if group else 1 :]
    namespace = ""
    if words[0] == "namespaces" and len(words) > 2:
        namespace, words = words[1], words[2:]
    resource = "/".join((words[0], *words[2:]))
    reads = "get" if len(words) > 1 else "list"
    verbs = {"GET": reads, "POST": "create", "PUT": "update", "DELETE": "delete"}
    return group, namespace, resource, verbs.get(call.method, call.method.lower())
