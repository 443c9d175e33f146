"""The form of the names of servers of any revision, in Python and in CEL.

Uses contracts.naming.names and contracts.naming.revisions, which make those names. Called by the
rules of spec.fencedPods, by contracts.admission, and by managers.cluster.observe, which searches
for pools that no status names.
"""

import re
from typing import Final

from contracts.naming import names, revisions

_DIGITS: Final = 16
_REVISION: Final = "0" * _DIGITS
_WHOLE: Final = _DIGITS + len("-")
_CUT: Final = len(revisions.server_stateful_set("c" * names.CLUSTER_NAME_MAX, _REVISION))
_FEWEST: Final = _CUT - names.CLUSTER_NAME_MAX - len("-")

IS_REVISION: Final = f"[0-9a-f]{{{_FEWEST},{_DIGITS}}}"
"""Pattern for what is in a name of a revision: for a long name of a cluster only a part of it."""


def length(cluster: str) -> str:
    """CEL: how long the name of a StatefulSet is; `cluster` is CEL for the name of the cluster."""
    return f"(size({cluster}) > {_CUT - _WHOLE} ? {_CUT} : size({cluster}) + {_WHOLE})"


def stateful_set_of(cluster: str, pod: str) -> str | None:
    """Return the StatefulSet of a voter, of whatever revision; None for any other pod.

    For pods that carry the label of this cluster: decided by the form of the name alone. Raises
    ValueError when no cluster may have that name.
    """
    name, _, _ = pod.rpartition("-")
    if names.ordinal_in(name, pod) is None:
        return None
    first = names.stateful_set(cluster)
    if name == first:
        return name
    rest = name.removeprefix(f"{first}-")
    fits = len(name) == len(revisions.server_stateful_set(cluster, _REVISION))
    of_a_revision = rest != name and re.fullmatch(IS_REVISION, rest) is not None
    return name if fits and of_a_revision else None


def server_ordinal(cluster: str, pod: str) -> int | None:
    """Return the ordinal in the name of a voter of whatever revision; None when it is none.

    Raises ValueError when no cluster may have that name.
    """
    stateful_set = stateful_set_of(cluster, pod)
    return None if stateful_set is None else names.ordinal_in(stateful_set, pod)


def pod_of_claim(claim: str) -> str:
    """Return the pod that uses a data volume; "" for a volume of any other use."""
    volume, _, pod = claim.partition("-")
    return pod if volume == names.DATA_VOLUME else ""
