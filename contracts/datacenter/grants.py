"""What an administrator allows the services of a datacenter beyond `restricted`. Pure.

Uses contracts.datacenter.service_spec. Part of contracts.datacenter.objects; `refusals` is called
by managers.datacenter.lifecycle.driver. Only a Datacenter carries it, and only who holds the verb
of contracts.admission.datacenters writes it there: a service that comes from a set or from a hook
cannot allow itself anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from pydantic import Field

from contracts.api.meta import ApiModel, as_set
from contracts.api.values.field_path import values_at
from contracts.api.violation import Violation, shown
from contracts.datacenter.container_files import NodePath
from contracts.datacenter.service_spec import BootstrapService

HOST_PATHS_MAX: Final = 16
NODE_ACCESS_VERB: Final = "usenodeaccess"
NODE_ACCESS_DENIED: Final = "NodeAccessDenied"
"""The reason of a service that asks for more of its node than its datacenter allows."""


class NodeAccess(ApiModel):
    """What services of a datacenter may see of their node. Left out, nothing."""

    host_paths: tuple[NodePath, ...] = Field(
        default=(),
        description=(
            "Directories of the node that services may mount, each with everything below it, "
            "always read-only."
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


def node_access_violations(
    service: BootstrapService, access: NodeAccess, datacenter: str
) -> Iterator[Violation]:
    """What a service asks for that its datacenter does not allow it."""
    for path, volume in values_at(service, "services[].volumes[]"):
        if volume.kind == "HostPath" and not _is_below(volume.host_path or "", access.host_paths):
            allowed = ", ".join(access.host_paths) or "nothing"
            yield _denied(
                f"{path}.hostPath",
                volume.host_path,
                "hostPaths",
                f"must be at or below a directory of spec.nodeAccess.hostPaths of Datacenter "
                f"{datacenter}, which allows {allowed}",
                "remove the volume",
            )
    if service.run_as_user == 0 and not access.run_as_root:
        yield _denied(
            "runAsUser",
            0,
            "runAsRoot",
            f"must not be 0 unless spec.nodeAccess.runAsRoot of Datacenter {datacenter} is true",
            "set another user",
        )


def _denied(field: str, value: object, rule: str, message: str, otherwise: str) -> Violation:
    step = f"let a holder of the verb {NODE_ACCESS_VERB} allow it there, or {otherwise}"
    return Violation(f"spec.service.{field}", shown(value), f"node-{rule}", f"{message}; {step}")


def _is_below(path: str, allowed: Iterable[str]) -> bool:
    """Compare by steps: /var/logs is not below /var/log. Both are plain (NodePath)."""
    return any(f"{path}/".startswith(f"{directory}/") for directory in allowed)
