"""The changes to the objects of the cluster `drift`, all of which must be reverted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from contracts.naming import labels, names
from runtime.builtin_kinds import (
    CONFIG_MAP,
    NETWORK_POLICY,
    POD_DISRUPTION_BUDGET,
    ROLE,
    ROLE_BINDING,
    SERVICE,
    SERVICE_ACCOUNT,
)
from runtime.types import Object, Resource

NAME = "drift"
ACCOUNT = names.service_account(NAME)
_OTHER = {"no-such": "label"}
_ANOTHER_ACCOUNT = {"kind": "ServiceAccount", "name": "somebody", "namespace": "default"}
_READ_SECRETS = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
_SSH = {"port": 22, "protocol": "TCP"}


@dataclass(frozen=True, slots=True)
class Edit:
    """A merge patch of one object, built from the live object."""

    resource: Resource
    name: str
    change: Callable[[Object], dict[str, Any]]


def _always(change: dict[str, Any]) -> Callable[[Object], dict[str, Any]]:
    return lambda live: change


def _one_more_port(live: Object) -> dict[str, Any]:
    first, *others = live["spec"]["ingress"]
    return {"spec": {"ingress": [{**first, "ports": [*first["ports"], _SSH]}, *others]}}


def _peers_of_all_namespaces(live: Object) -> dict[str, Any]:
    first, *others = live["spec"]["ingress"]
    peers = [{**peer, "namespaceSelector": {}} for peer in first["from"]]
    return {"spec": {"ingress": [{**first, "from": peers}, *others]}}


_public = names.public_service(NAME)
_config = names.config_map(NAME)
_policy = names.network_policy(NAME)
_role = names.role(ACCOUNT)
_binding = names.role_binding(ACCOUNT)
_budget = names.pod_disruption_budget(NAME)

EDITS: dict[str, Edit] = {
    "a Service selects other pods": Edit(
        SERVICE, _public, _always({"spec": {"selector": {labels.CLUSTER: "other"}}})
    ),
    "a Service selects fewer pods": Edit(SERVICE, _public, _always({"spec": {"selector": _OTHER}})),
    "a Service publishes only ready pods": Edit(
        SERVICE,
        names.headless_service(NAME),
        _always({"spec": {"publishNotReadyAddresses": False}}),
    ),
    "the configuration is changed": Edit(
        CONFIG_MAP, _config, _always({"data": {"config.hcl": "ui = true"}})
    ),
    "a label is removed": Edit(
        CONFIG_MAP, _config, _always({"metadata": {"labels": {labels.CLUSTER: None}}})
    ),
    "the label of our watch selector is removed": Edit(
        CONFIG_MAP, _config, _always({"metadata": {"labels": {labels.MANAGED_BY: None}}})
    ),
    "the owner reference is removed": Edit(
        CONFIG_MAP, _config, _always({"metadata": {"ownerReferences": None}})
    ),
    "the policy allows all ingress": Edit(
        NETWORK_POLICY, _policy, _always({"spec": {"ingress": [{}]}})
    ),
    "the policy allows no ingress": Edit(
        NETWORK_POLICY, _policy, _always({"spec": {"ingress": None}})
    ),
    "the policy allows one more port": Edit(NETWORK_POLICY, _policy, _one_more_port),
    "the policy allows other namespaces": Edit(NETWORK_POLICY, _policy, _peers_of_all_namespaces),
    "the policy selects other pods": Edit(
        NETWORK_POLICY, _policy, _always({"spec": {"podSelector": {"matchLabels": _OTHER}}})
    ),
    "the Role allows something else": Edit(ROLE, _role, _always({"rules": [_READ_SECRETS]})),
    "the Role allows more": Edit(
        ROLE, _role, lambda live: {"rules": [*live["rules"], _READ_SECRETS]}
    ),
    "the Role allows nothing": Edit(ROLE, _role, _always({"rules": []})),
    "the RoleBinding has another subject": Edit(
        ROLE_BINDING, _binding, _always({"subjects": [_ANOTHER_ACCOUNT]})
    ),
    "the RoleBinding has one more subject": Edit(
        ROLE_BINDING, _binding, lambda live: {"subjects": [*live["subjects"], _ANOTHER_ACCOUNT]}
    ),
    "the budget allows the eviction of all pods": Edit(
        POD_DISRUPTION_BUDGET, _budget, _always({"spec": {"maxUnavailable": 3}})
    ),
    "the account mounts its token": Edit(
        SERVICE_ACCOUNT, ACCOUNT, _always({"automountServiceAccountToken": True})
    ),
}

DELETED: dict[str, tuple[Resource, str]] = {
    "ConfigMap": (CONFIG_MAP, _config),
    "headless Service": (SERVICE, names.headless_service(NAME)),
    "public Service": (SERVICE, _public),
    "NetworkPolicy": (NETWORK_POLICY, _policy),
    "Role": (ROLE, _role),
    "RoleBinding": (ROLE_BINDING, _binding),
    "ServiceAccount": (SERVICE_ACCOUNT, ACCOUNT),
    "PodDisruptionBudget": (POD_DISRUPTION_BUDGET, _budget),
}


def content(obj: Object) -> Object:
    """Return the parts of an object that must be restored: all but status and server metadata."""
    kept = {key: value for key, value in obj.items() if key not in ("status", "metadata")}
    metadata = obj["metadata"]
    kept["metadata"] = {
        "labels": metadata.get("labels"),
        "annotations": metadata.get("annotations"),
        "owners": [owner["uid"] for owner in metadata.get("ownerReferences") or ()],
    }
    return kept
