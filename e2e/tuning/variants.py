"""The variants: one change each, compared with the default. Pure.

The default is three servers with the defaults of the operator, eight workers, values of 1 KiB in an
engine of version 2, and connections to the leader.
"""

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from e2e.harness.manifests import SECRETS

End = Literal["leader", "standby", "port-forward"]


@dataclass(frozen=True, slots=True)
class Variant:
    """One change of the spec of the cluster, of the options of the run, or of its path."""

    title: str
    spec: dict[str, Any] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    end: End = "leader"


def _configuration(**settings: Any) -> dict[str, Any]:
    return {"configuration": settings}


def _audit(path: str, file: str) -> dict[str, Any]:
    return {"audit": [{"type": "file", "path": path, "fileOptions": {"filePath": file}}]}


def _limits(**limits: str) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": limits}}


def _multiplier(value: int) -> dict[str, Any]:
    return _configuration(raft={"performanceMultiplier": value})


DEFAULT: Final = Variant("the default")
OF_CLUSTERS: Final = (
    # Its difference to the default is noise.
    Variant("the default again, in another cluster"),
    Variant("`raft.performanceMultiplier: 5`", _multiplier(5)),
    Variant("`disableCache: true`", _configuration(disableCache=True)),
    Variant("an audit device, to the log", _audit("stdout", "stdout")),
    Variant("one server", {"replicas": 1}),
    Variant("limit of 500m CPU", _limits(cpu="500m")),
)
OF_RUNS: Final = (
    Variant("values of 16 KiB", options=("--size", "16KiB")),
    Variant("values of 64 KiB", options=("--size", "64KiB")),
    Variant("engine of version 1", options=("--mount", SECRETS)),
    Variant("connections to a standby", end="standby"),
    Variant("a port-forward", end="port-forward"),
)
ON_DISK: Final = Variant("volumes on a disk")
MULTIPLIERS: Final = (1, 5, 10)
