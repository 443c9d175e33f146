"""The form of the names of servers of any revision, in Python and in CEL.

Uses contracts.names and contracts.upgrade_names, which make those names. Called by the rules of
spec.fencedPods and by the locks of what the operator made: by whoever has no status to ask which
revision there is.
"""

import re
from typing import Final

from contracts import names, upgrade_names

_DIGITS: Final = 16
_REVISION: Final = "0" * _DIGITS
_WHOLE: Final = _DIGITS + len("-")
_CUT: Final = len(upgrade_names.server_set("c" * names.CLUSTER_NAME_MAX, _REVISION))
_FEWEST: Final = _CUT - names.CLUSTER_NAME_MAX - len("-")

IS_REVISION: Final = f"[0-9a-f]{{{_FEWEST},{_DIGITS}}}"
"""Pattern for what is in a name of a revision: for a long name of a cluster only a part of it."""


def length(cluster: str) -> str:
    """CEL: how long the name of a set is; `cluster` is CEL for the name of the cluster."""
    return f"(size({cluster}) > {_CUT - _WHOLE} ? {_CUT} : size({cluster}) + {_WHOLE})"


def server_ordinal(cluster: str, pod: str) -> int | None:
    """Return the ordinal in the name of a voter of whatever revision; None when it is none.

    Raises ValueError when no cluster may have that name.
    """
    found, _, _ = pod.rpartition("-")
    ordinal = names.ordinal_in(found, pod)
    if ordinal is None or found == names.stateful_set(cluster):
        return ordinal
    rest = found.removeprefix(f"{cluster}-")
    fits = len(found) == len(upgrade_names.server_set(cluster, _REVISION))
    of_a_revision = rest != found and re.fullmatch(IS_REVISION, rest) is not None
    return ordinal if fits and of_a_revision else None
