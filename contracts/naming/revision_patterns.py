"""The patterns of the names of servers of any revision, in Python and in CEL.

Uses contracts.naming.names and contracts.naming.revisions, which build those names. Called by the
rules of spec.fencedPods, by contracts.admission, and by managers.cluster.observe, which searches
for pools that are in no status.
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
"""Pattern of the revision in a name; the name of a long cluster name has only a part of it."""


def length(cluster: str) -> str:
    """Return CEL for the length of a StatefulSet name; `cluster` is CEL for the cluster name."""
    return f"(size({cluster}) > {_CUT - _WHOLE} ? {_CUT} : size({cluster}) + {_WHOLE})"


def stateful_set_of(cluster: str, pod: str) -> str | None:
    """Return the StatefulSet of a voter of any revision; None for any other pod.

    For pods with the label of this cluster: only the form of the name decides. Raises ValueError
    for an invalid name of a cluster.
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
    """Return the ordinal in the name of a voter of any revision; None for any other pod.

    Raises ValueError for an invalid name of a cluster.
    """
    stateful_set = stateful_set_of(cluster, pod)
    return None if stateful_set is None else names.ordinal_in(stateful_set, pod)


def pod_of_claim(claim: str) -> str:
    """Return the pod of a data PVC; "" for any other PVC."""
    volume, _, pod = claim.partition("-")
    return pod if volume == names.DATA_VOLUME else ""
