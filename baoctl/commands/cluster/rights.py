"""The rights that a user lacks, and the text about what a verb could not read.

Pure. Used by the modules that read objects and by those that print.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from runtime.builtin_kinds import (
    CONFIG_MAP,
    CORE_EVENT,
    DEPLOYMENT,
    INGRESS,
    JOB,
    NETWORK_POLICY,
    POD,
    POD_DISRUPTION_BUDGET,
    PVC,
    SERVICE,
    SERVICE_ACCOUNT,
    STATEFUL_SET,
)

POD_LOG: Final = f"{POD}/log"
IN_VIEW: Final = frozenset(
    {
        POD_LOG,
        *map(
            str,
            (
                CONFIG_MAP, CORE_EVENT, DEPLOYMENT, INGRESS, JOB, NETWORK_POLICY, POD,
                POD_DISRUPTION_BUDGET, PVC, SERVICE, SERVICE_ACCOUNT, STATEFUL_SET,
            ),
        ),
    }
)  # fmt: skip
"""Resources that the ClusterRole view of Kubernetes allows to read."""


@dataclass(frozen=True, slots=True, order=True)
class MissingRight:
    """A right that the API server requires and the user does not have."""

    namespace: str
    """"" for the whole cluster."""
    verb: str
    resource: str
    """As kubectl auth can-i writes it: pods, pods/log, statefulsets.apps."""


def unread_text(intro: str, denied: Iterable[str], rights: Iterable[MissingRight]) -> str:
    """Return what could not be read, and the missing rights; "" if everything was read."""
    parts = ", ".join(denied)
    if not parts:
        return ""
    missing = rights_text(rights)
    return f"{intro}, because it cannot be read: {parts}" + (
        f"\nMissing rights: {missing}" if missing else ""
    )


def rights_text(rights: Iterable[MissingRight]) -> str:
    """Return missing rights by namespace, and whether the ClusterRole view grants them."""
    return "; ".join(_by_place(rights))


def _by_place(rights: Iterable[MissingRight]) -> Iterator[str]:
    def place(right: MissingRight) -> tuple[str, bool]:
        return right.namespace, right.resource not in IN_VIEW

    for (namespace, beyond), group in groupby(sorted(set(rights), key=place), place):
        names = ", ".join(f"{right.verb} {right.resource}" for right in sorted(group))
        scope = f"in namespace {namespace}" if namespace else "in the whole cluster"
        yield f"{names} {scope}" + ("" if beyond else " (ClusterRole view)")
