"""The part of a server pod that one feature adds. Pure data.

Each feature that needs a file, a variable or a port in the pod (a seal, TLS, an audit volume, a
plugin folder) builds a part from the spec. `managers.cluster.resolve.resolve` lists them in
`PodSettings.parts`, and `managers.workload.objects.pod` merges them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

Items = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class PodPart:
    """Additions to the pod, as fields of a PodSpec.

    `env`, `mounts` (volumeMounts) and `ports` belong to the server's container, `volumes` to the
    pod. Each item has a `name`, which is unique within a list of the pod; mounts may share a
    volume, but no path.
    """

    env: Items = ()
    mounts: Items = ()
    volumes: Items = ()
    ports: Items = ()

    @classmethod
    def merged(cls, parts: Iterable[Self]) -> Self:
        """Concatenate parts in their order; raises ValueError for a duplicate name."""
        everything = tuple(parts)
        whole = cls(
            **{
                field.name: tuple(item for part in everything for item in getattr(part, field.name))
                for field in fields(cls)
            }
        )
        for kind, key in (
            ("env", "name"),
            ("mounts", "mountPath"),
            ("volumes", "name"),
            ("ports", "name"),
        ):
            keys = [item[key] for item in getattr(whole, kind)]
            duplicates = sorted({value for value in keys if keys.count(value) > 1})
            if duplicates:
                raise ValueError(f"two parts of a pod both have {kind} {', '.join(duplicates)}")
        return whole
