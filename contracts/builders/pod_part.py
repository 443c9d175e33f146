"""What one feature adds to the pod of a server. Pure data; merged by
`managers.workload.objects.pod`.

Each feature that needs a file, a variable or a port in the pod (a seal, TLS, an audit volume, a
plugin folder) builds one of these from the spec alone; `managers.cluster.resolve.resolve` lists
them in `PodWishes.parts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

Items = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class PodPart:
    """Additions to the pod, in the form in which Kubernetes has them.

    `env`, `mounts` (volumeMounts) and `ports` belong to the server's container, `volumes` to the
    pod. Each item has a `name`, and no two items of one list of a pod may share it; mounts may
    share a volume, but no path.
    """

    env: Items = ()
    mounts: Items = ()
    volumes: Items = ()
    ports: Items = ()

    @classmethod
    def merged(cls, parts: Iterable[Self]) -> Self:
        """Put parts behind each other, in their order; raises ValueError for a name used twice."""
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
            twice = sorted({value for value in keys if keys.count(value) > 1})
            if twice:
                raise ValueError(f"two parts of a pod both bring {kind} {', '.join(twice)}")
        return whole
