"""Rules about where pods run.

Uses the API models. Collected by contracts.api.rules.cluster.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.rule import Broken, Offence, Rule
from contracts.api.values.field_path import value_at

Old = OpenBaoCluster | None

# Kubernetes API reference, Affinity.
_KINDS = frozenset({"nodeAffinity", "podAffinity", "podAntiAffinity"})
# A long one has some fifty. All of it is in each pod, and the scheduler weighs it for each node.
AFFINITY_VALUES_MAX = 500
AFFINITY_TEXT_MAX = 4096


def _is_unfit(affinity: Mapping[str, Any]) -> bool:
    leaves = list(_leaves(affinity))
    return (
        not affinity.keys() <= _KINDS
        or len(leaves) > AFFINITY_VALUES_MAX
        or any(isinstance(leaf, str) and len(leaf) > AFFINITY_TEXT_MAX for leaf in leaves)
    )


def _leaves(value: Any) -> Iterator[Any]:
    """Every name and every value that holds no others; a spec is never deeper than recursion."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield key
            yield from _leaves(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part)
    else:
        yield value


def _unfit(path: str) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        affinity = value_at(new.spec, path)
        if affinity is not None and _is_unfit(affinity):
            yield f"spec.{path}", ", ".join(sorted(affinity))[:80]

    return broken


def _affinity(what: str, path: str) -> Rule:
    return Rule(
        id=f"affinity-{what}",
        at=f"spec.{path}",
        field=f"spec.{path}",
        message=(
            "must hold nothing but nodeAffinity, podAffinity and podAntiAffinity, at most "
            f"{AFFINITY_VALUES_MAX} values, none longer than {AFFINITY_TEXT_MAX} characters; "
            "correct it as in a pod"
        ),
        broken=_unfit(path),
    )


POD_RULES: tuple[Rule, ...] = (
    _affinity("voters", "scheduling.affinity"),
    _affinity("readers", "readReplicas.template.scheduling.affinity"),
)
