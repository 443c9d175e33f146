"""Compares the live objects of an operator after few and after many clusters. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

RATIO_MAX = 1.2
"""Resident memory at rest, after all clusters to after the first ones."""
LARGE_MAX = 64.0
"""Megabytes that a thousand objects of the size limit of the API server may cost."""
SHARE = 0.25
"""Objects of one type per created and deleted cluster: a lower growth is not reported."""


@dataclass(frozen=True, slots=True)
class TypeGrowth:
    """A type with more live objects than before."""

    kind: str
    before: int
    after: int


def find_growth(
    before: Mapping[str, int], after: Mapping[str, int], clusters: int
) -> list[TypeGrowth]:
    """Return the types that grew with the clusters, largest growth first."""
    growths = [
        TypeGrowth(kind, before.get(kind, 0), count)
        for kind, count in after.items()
        if count - before.get(kind, 0) > SHARE * clusters
    ]
    return sorted(growths, key=lambda growth: growth.before - growth.after)
