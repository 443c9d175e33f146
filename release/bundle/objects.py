"""Groups the objects of an overlay: created by OLM, in the bundle, or not supported. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from contracts.installation import CONTROLLER
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
    rules = {(one["kind"], one["metadata"]["name"]): one for one in objects}
    roles = [one for one in objects if one["kind"] == "RoleBinding"]
    cluster_roles = [one for one in objects if one["kind"] == "ClusterRoleBinding"]
    (deployment,) = [one for one in objects if one["kind"] == "Deployment"]
    held = {_role(binding) for binding in (*roles, *cluster_roles)}
    # OLM creates these from the ClusterServiceVersion, and also the account and the namespace.
    made = {
        *held,
        *(_key(one) for one in (*roles, *cluster_roles, deployment)),
        ("ServiceAccount", CONTROLLER),
    }
    rest = [one for one in objects if _key(one) not in made and one["kind"] != "Namespace"]
    return Parts(
        deployment=deployment,
        permissions=tuple(rule for one in roles for rule in rules[_role(one)]["rules"]),
        cluster_permissions=tuple(
            rule for one in cluster_roles for rule in rules[_role(one)]["rules"]
        ),
        definitions=tuple(one for one in rest if one["kind"] == "CustomResourceDefinition"),
        others=tuple(
            _without_namespace(one)
            for one in rest
            if one["kind"] in IN_BUNDLE - {"CustomResourceDefinition"}
        ),
        extras=tuple(one for one in rest if one["kind"] not in IN_BUNDLE),
    )


def _key(one: Object) -> tuple[str, str]:
    return one["kind"], one["metadata"]["name"]


def _role(binding: Object) -> tuple[str, str]:
    """Return the role of a binding. Raises UnknownObjectError if another account holds it."""
    names = [(one["kind"], one["name"]) for one in binding["subjects"]]
    if names != [("ServiceAccount", CONTROLLER)]:
        raise UnknownObjectError(
            f"{binding['kind']} {binding['metadata']['name']} is for {names}, not for the "
            f"ServiceAccount {CONTROLLER} alone"
        )
    reference = binding["roleRef"]
    return reference["kind"], reference["name"]


def _without_namespace(one: Object) -> Object:
    metadata = {name: value for name, value in one["metadata"].items() if name != "namespace"}
    return {**one, "metadata": metadata}
