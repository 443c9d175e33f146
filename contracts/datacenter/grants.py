"""Permissions of the services of a datacenter beyond Pod Security `restricted`. Pure.

Uses contracts.datacenter.service_spec. Part of contracts.datacenter.objects; the violations are
computed for managers.datacenter.lifecycle.permission. Only a Datacenter has these fields, and
writing them requires the verbs of contracts.admission.datacenters: a service from a set or a hook
cannot grant itself a permission.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal

from pydantic import Field

from contracts.api.meta import ApiModel, as_set
from contracts.api.values.field_path import values_at
from contracts.api.violation import Violation, format_value
from contracts.datacenter.container_files import NodePath
from contracts.datacenter.kinds import NODE_ACCESS_VERB, OBJECT_KINDS_VERB
from contracts.datacenter.object_refs import kind_of
from contracts.datacenter.service_spec import BootstrapService

HOST_PATHS_MAX: Final = 16
NODE_ACCESS_DENIED: Final = "NodeAccessDenied"
"""The reason of a service that requests more access to its node than its datacenter allows."""


class NodeAccess(ApiModel):
    """Access of the services of a datacenter to their node. Left out, none."""

    host_paths: tuple[NodePath, ...] = Field(
        default=(),
        description=(
            "Directories of the node that services may mount read-only, including their "
            "subdirectories."
        ),
        examples=[["/var/log"]],
        max_length=HOST_PATHS_MAX,
        json_schema_extra=as_set(),
    )
    run_as_root: bool = Field(
        default=False,
        description="Services may run as user 0, without any capability.",
        examples=[True],
    )


NO_ACCESS: Final = NodeAccess()


OBJECT_KINDS_MAX: Final = 64
OBJECT_KIND_DENIED: Final = "ObjectKindDenied"
"""The reason of a service with an object of a kind that its datacenter does not allow."""
_DEFINITIONS: Final = ("apiextensions.k8s.io", "CustomResourceDefinition")


class ObjectKind(ApiModel):
    """A kind that services of kind Objects may use. There is no wildcard."""

    group: str = Field(
        description="API group of the kind, without a version; empty for the core group.",
        examples=["cert-manager.io"],
        pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$",
        max_length=253,
    )
    kind: str = Field(
        description="Name of the kind.",
        examples=["ClusterIssuer"],
        pattern=r"^[A-Z][A-Za-z0-9]*$",
        max_length=63,
    )
    deletion_policy: Literal["Delete", "Retain"] | None = Field(
        default=None,
        description=(
            "What happens to objects that were removed from their service. Left out, Delete; for a "
            "CustomResourceDefinition Retain, because its deletion deletes all objects of that"
            " kind."
        ),
        examples=["Retain"],
    )

    @property
    def retains(self) -> bool:
        """Whether objects of this kind are kept when their service is removed."""
        if self.deletion_policy is None:
            return (self.group, self.kind) == _DEFINITIONS
        return self.deletion_policy == "Retain"


def object_kind_violations(
    service: BootstrapService, kinds: Iterable[ObjectKind], datacenter: str
) -> Iterator[Violation]:
    """Return the objects of a service whose kind its datacenter does not allow."""
    allowed = {(entry.group, entry.kind) for entry in kinds}
    for at, body in enumerate(service.objects or ()):
        kind = kind_of(body)
        if kind not in allowed:
            message = (
                f"must be a kind of spec.objectKinds of Datacenter {datacenter}; ask a user with "
                f"the verb {OBJECT_KINDS_VERB} to add group {kind[0] or '(core)'} and kind "
                f"{kind[1]} there and to grant the operator the permissions for it, or remove the "
                "object"
            )
            field = f"spec.service.objects[{at}].kind"
            yield Violation(
                field, format_value("/".join(filter(None, kind))), "object-kinds", message
            )


def node_access_violations(
    service: BootstrapService, access: NodeAccess, datacenter: str
) -> Iterator[Violation]:
    """Return the node access that a service requests and its datacenter does not allow."""
    for path, volume in values_at(service, "services[].volumes[]"):
        if volume.kind == "HostPath" and not _is_below(volume.host_path or "", access.host_paths):
            allowed = ", ".join(access.host_paths) or "nothing"
            yield _violation(
                f"{path}.hostPath",
                volume.host_path,
                "hostPaths",
                f"must be at or below a directory of spec.nodeAccess.hostPaths of Datacenter "
                f"{datacenter}, which allows {allowed}",
                "remove the volume",
            )
    if service.run_as_user == 0 and not access.run_as_root:
        yield _violation(
            "runAsUser",
            0,
            "runAsRoot",
            f"must not be 0 unless spec.nodeAccess.runAsRoot of Datacenter {datacenter} is true",
            "set another user",
        )


def _violation(field: str, value: object, rule: str, message: str, alternative: str) -> Violation:
    remedy = f"ask a user with the verb {NODE_ACCESS_VERB} to allow it there, or {alternative}"
    return Violation(
        f"spec.service.{field}", format_value(value), f"node-{rule}", f"{message}; {remedy}"
    )


def _is_below(path: str, allowed: Iterable[str]) -> bool:
    """Compare by path segments: /var/logs is not below /var/log. Both are NodePaths."""
    return any(f"{path}/".startswith(f"{directory}/") for directory in allowed)
