"""The identity step.

A server labels its own pod (service registration) and does nothing else in the API.
"""

from __future__ import annotations

from contracts import names
from contracts.desired import Plan
from contracts.observed import Observed
from contracts.resolved import Resolved
from contracts.shapes.metadata import cluster_object
from runtime.intent import Intent
from runtime.memo import remembered
from runtime.resources import ROLE, ROLE_BINDING, SERVICE_ACCOUNT


def plan(resolved: Resolved, observed: Observed) -> Plan:
    """Want an account for the pods, with rights to their own pods by name."""
    return Plan(
        intents=(
            _account(resolved),
            _role(resolved, tuple(pod.ordinal for pod in observed.pods)),
            _binding(resolved),
        ),
    )


@remembered
def _account(resolved: Resolved) -> Intent:
    return cluster_object(
        resolved,
        SERVICE_ACCOUNT,
        resolved.service_account,
        {"automountServiceAccountToken": False},
        annotations=resolved.service_account_annotations,
    )


@remembered
def _role(resolved: Resolved, running: tuple[int, ...]) -> Intent:
    # Names of pods that still run stay in the list while the cluster shrinks. In the order of
    # ordinals: an unordered list would be written anew in every pass.
    ordinals = {*range(max(3, resolved.replicas)), *running}
    pods = [names.pod(resolved.name, ordinal) for ordinal in sorted(ordinals)]
    return cluster_object(
        resolved,
        ROLE,
        names.role(resolved.service_account),
        {
            "rules": [
                {
                    "apiGroups": [""],
                    "resources": ["pods"],
                    "resourceNames": pods,
                    "verbs": ["get", "patch", "update"],
                }
            ]
        },
    )


@remembered
def _binding(resolved: Resolved) -> Intent:
    return cluster_object(
        resolved,
        ROLE_BINDING,
        names.role_binding(resolved.service_account),
        {
            "roleRef": {
                "apiGroup": ROLE.group,
                "kind": ROLE.kind,
                "name": names.role(resolved.service_account),
            },
            "subjects": [
                {
                    "kind": "ServiceAccount",
                    "name": resolved.service_account,
                    "namespace": resolved.namespace,
                }
            ],
        },
    )
