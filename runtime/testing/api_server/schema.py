"""How a server merges the fields of an object: which lists are maps, which values are atomic.

Pure data. Separate from the table in runtime.apply.intent, so that a mistake there is not repeated
here. Source: Kubernetes API reference, x-kubernetes-list-type, -list-map-keys, -map-type.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Keys = tuple[str, ...]
SET: Keys = ()
"""A list of scalars in which each value is an item."""


@dataclass(frozen=True, slots=True)
class Schema:
    """By field name: the keys of lists that are maps (SET for sets), and the atomic fields.

    Only ports has two meanings: those of containers have containerPort.
    """

    lists: Mapping[str, Keys] = field(default_factory=dict)
    whole: frozenset[str] = frozenset()

    def keys(self, name: str, items: list[Any]) -> Keys | None:
        """The keys of the items of the list in that field; None: the list is atomic."""
        if name == "ports":
            container = any(isinstance(item, dict) and "containerPort" in item for item in items)
            return ("containerPort", "protocol") if container else self.lists.get(name)
        return self.lists.get(name)


_METADATA = {"ownerReferences": ("uid",), "finalizers": SET}

BUILT_IN = Schema(
    {
        **_METADATA,
        "conditions": ("type",),
        "containers": ("name",),
        "env": ("name",),
        "ephemeralContainers": ("name",),
        "hostAliases": ("ip",),
        "imagePullSecrets": ("name",),
        "initContainers": ("name",),
        "ports": ("port", "protocol"),
        "secrets": ("name",),
        "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
        "volumeDevices": ("devicePath",),
        "volumeMounts": ("mountPath",),
        "volumes": ("name",),
    },
    frozenset(
        {
            "configMapKeyRef",
            "fieldRef",
            "labelSelector",
            "nodeSelector",
            "podSelector",
            "resourceFieldRef",
            "roleRef",
            "secretKeyRef",
            "selector",
        }
    ),
)

CUSTOM = Schema(_METADATA)
"""A custom resource without declarations: all its lists are atomic."""
