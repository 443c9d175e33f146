"""Groups the objects of an overlay: created by OLM, in the bundle, or not supported. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from contracts.naming.installation import CONTROLLER
from release.manifests import Object

IN_BUNDLE = frozenset({"CustomResourceDefinition", "ClusterRole", "Service", "PodDisruptionBudget"})
"""Kinds that every OLM installs. Not NetworkPolicy: OLM before 0.33 refuses it."""


class UnknownObjectError(Exception):
    """An overlay has an object that the bundle does not support."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The objects of one overlay."""

    deployment: Object
    permissions: tuple[Object, ...]
    """Rules in the namespace of the operator."""
    cluster_permissions: tuple[Object, ...]
    definitions: tuple[Object, ...]
    others: tuple[Object, ...]
    """Other objects of the bundle, without a namespace: OLM sets it."""
    extras: tuple[Object, ...]
    """Objects that OLM cannot install: admission policies, their parameters, NetworkPolicy."""


def divide(objects: Sequence[Object]) -> Parts:
    """Group the objects of an overlay. Raises UnknownObjectError for an unsupported object."""
    rules = {(body["kind"], body["metadata"]["name"]): body for body in objects}
    roles = [body for body in objects if body["kind"] == "RoleBinding"]
    cluster_roles = [body for body in objects if body["kind"] == "ClusterRoleBinding"]
    (deployment,) = [body for body in objects if body["kind"] == "Deployment"]
    held = {_role(binding) for binding in (*roles, *cluster_roles)}
    # OLM creates these from the ClusterServiceVersion, and also the account and the namespace.
    created_by_olm = {
        *held,
        *(_key(body) for body in (*roles, *cluster_roles, deployment)),
        ("ServiceAccount", CONTROLLER),
    }
    rest = [
        body for body in objects if _key(body) not in created_by_olm and body["kind"] != "Namespace"
    ]
    return Parts(
        deployment=deployment,
        permissions=tuple(rule for body in roles for rule in rules[_role(body)]["rules"]),
        cluster_permissions=tuple(
            rule for body in cluster_roles for rule in rules[_role(body)]["rules"]
        ),
        definitions=tuple(body for body in rest if body["kind"] == "CustomResourceDefinition"),
        others=tuple(
            _without_namespace(body)
            for body in rest
            if body["kind"] in IN_BUNDLE - {"CustomResourceDefinition"}
        ),
        extras=tuple(body for body in rest if body["kind"] not in IN_BUNDLE),
    )


def _key(body: Object) -> tuple[str, str]:
    return body["kind"], body["metadata"]["name"]


def _role(binding: Object) -> tuple[str, str]:
    """Return the role of a binding. Raises UnknownObjectError if another account holds it."""
    names = [(subject["kind"], subject["name"]) for subject in binding["subjects"]]
    if names != [("ServiceAccount", CONTROLLER)]:
        raise UnknownObjectError(
            f"{binding['kind']} {binding['metadata']['name']} is for {names}, not for the "
            f"ServiceAccount {CONTROLLER} only"
        )
    reference = binding["roleRef"]
    return reference["kind"], reference["name"]


def _without_namespace(body: Object) -> Object:
    metadata = {name: value for name, value in body["metadata"].items() if name != "namespace"}
    return {**body, "metadata": metadata}
