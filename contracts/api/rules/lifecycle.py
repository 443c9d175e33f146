"""Rules about what users request of a running cluster.

Uses contracts.naming.revision_patterns and the API models. Collected by
contracts.api.rules.cluster.
"""

from collections.abc import Iterator

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.rule import Offence, Rule, either
from contracts.naming import revision_patterns

Old = OpenBaoCluster | None

_FENCED = "spec.fencedPods"
_NUMBER = "p.find('[0-9]+$')"
_REST = "p.substring(size(self.metadata.name) + 1)"
# Too few digits for the length of the cluster's name are no revision.
_IS_WHOLE = (
    f"(size({_REST}) < 3 || "
    f"size(p) - size({_NUMBER}) == {revision_patterns.length('self.metadata.name')} + 1)"
)
# The number is compared only behind a name of the right shape, so int() never fails.
_SERVER = (
    "p.startsWith(self.metadata.name + '-') && "
    f"{_REST}.matches('^({revision_patterns.IS_REVISION}-)?(0|[1-9][0-9]?)$') && "
    f"{_IS_WHOLE} && int({_NUMBER}) < {either('spec.replicas', '3')}"
)


def _no_server(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    for pod in new.spec.fenced_pods:
        ordinal = revision_patterns.server_ordinal(new.metadata.name, pod)
        if ordinal is None or ordinal >= new.spec.replicas:
            yield _FENCED, pod


def _too_many(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if 2 * len(new.spec.fenced_pods) >= new.spec.replicas and new.spec.fenced_pods:
        yield _FENCED, len(new.spec.fenced_pods)


LIFE_RULES: tuple[Rule, ...] = (
    Rule(
        id="fenced-pod-name",
        at="",
        field=_FENCED,
        message=(
            "spec.fencedPods names servers as <cluster>-<number>, or with a revision as "
            "<cluster>-<revision>-<number>, each number below spec.replicas; correct it, or take "
            "it off the list before spec.replicas is lowered"
        ),
        broken=_no_server,
        cel=f"!has(self.spec.fencedPods) || self.spec.fencedPods.all(p, {_SERVER})",
        got="self.spec.fencedPods.filter(p, !p.startsWith(self.metadata.name + '-'))[0]",
    ),
    Rule(
        id="fenced-pods-majority",
        at="spec",
        field=_FENCED,
        message=(
            "spec.fencedPods may name less than half of spec.replicas, since the others have to "
            "go on without them; name fewer pods"
        ),
        broken=_too_many,
        cel=(
            "!has(self.fencedPods) || size(self.fencedPods) == 0 || "
            f"2 * size(self.fencedPods) < {either('replicas', '3')}"
        ),
    ),
)
