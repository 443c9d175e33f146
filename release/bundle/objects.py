"""Which objects of an overlay OLM makes itself, and which a bundle holds or cannot hold. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from contracts.installation import CONTROLLER
from release.manifests import Object

IN_BUNDLE = frozenset({"CustomResourceDefinition", "ClusterRole", "Service", "PodDisruptionBudget"})
"""Kinds that every OLM installs. NetworkPolicy is not one of them: OLM before 0.33 refuses it."""


class UnknownObjectError(Exception):
    """An overlay has an object of which the bundle does not know what to do."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The objects of one overlay."""

    deployment: Object
    permissions: tuple[Object, ...]
    """Rules in the namespace of the operator."""
    cluster_permissions: tuple[Object, ...]
    definitions: tuple[Object, ...]
    others: tuple[Object, ...]
    """What else the bundle holds, without a namespace: OLM chooses it."""
    extras: tuple[Object, ...]
    """What OLM cannot install: admission policies, their marker, and the NetworkPolicy."""


def divide(objects: Sequence[Object]) -> Parts:
    """Divide an overlay. Raises UnknownObjectError: nothing of an overlay may get lost."""
    rules = {(one["kind"], one["metadata"]["name"]): one for one in objects}
    roles = [one for one in objects if one["kind"] == "RoleBinding"]
    cluster_roles = [one for one in objects if one["kind"] == "ClusterRoleBinding"]
    (deployment,) = [one for one in objects if one["kind"] == "Deployment"]
    held = {_role(binding) for binding in (*roles, *cluster_roles)}
    # OLM makes these from the ClusterServiceVersion, and the account and the namespace as well.
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
