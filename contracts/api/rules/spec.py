"""Rules about the name of a cluster, its ServiceAccount, volumes, scheduling and fenced pods.

Uses contracts.naming and the API models. Collected by contracts.api.rules.cluster.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.checks import both, either, group, has, is_set, it
from contracts.api.rules.combinators import rule
from contracts.api.rules.rule import FORBIDDEN, InvalidField, Old, Rule, RuleOf
from contracts.api.values.pattern import Pattern
from contracts.naming import names, revision_patterns

# --- names and accounts -------------------------------------------------------------------------

_NAME, _ACCOUNT = it("metadata.name"), "spec.serviceAccount"
_REVISION = Pattern(names.REVISION_SUFFIX)
OPERATOR_LOGIN = group(
    is_set("selfInit.oidc.enabled")
    & it("selfInit.enabled").is_true()
    & it("selfInit.oidc.enabled").is_true()
)
"""The first boot creates a login for the operator; at spec."""
JOB_ROLES = group(OPERATOR_LOGIN | ~either("selfInit.enabled", False).is_true())
"""OpenBao has roles for Jobs, from the first boot or created with its root token; at spec."""
_MODE, _FORMER_MODE = both("controllerJWTMode", "Shared")

SPEC_RULES: tuple[Rule, ...] = (
    rule(
        "cluster-name",
        "",
        "metadata.name",
        "metadata.name must be 1 to 40 lower-case letters, digits and dashes that start with a "
        "letter and end with a letter or digit; choose another name",
        _NAME.size().at_most(names.CLUSTER_NAME_MAX)
        & _NAME.matches(Pattern(names.CLUSTER_NAME_PATTERN)),
        got=_NAME,
    ),
    rule(
        "cluster-name-reserved",
        "",
        "metadata.name",
        "metadata.name must not end in -acme, -active, -metrics, -public or -read, which are names "
        "of Services of other clusters; choose another name",
        ~_NAME.matches(Pattern(f"({'|'.join(names.RESERVED_SUFFIXES)})$"), mark=""),
        got=_NAME,
    ),
    rule(
        "cluster-name-of-a-pool",
        "",
        "metadata.name",
        "metadata.name must not end in a dash and 16 hexadecimal digits, because the green "
        "StatefulSet of another cluster can have that name; choose another name",
        ~_NAME.matches(_REVISION),
        got=_NAME,
    ),
    rule(
        "service-account",
        _ACCOUNT,
        "name",
        "must not be default, because the operator grants this ServiceAccount rights, and every "
        "pod that names none uses it; choose another name or remove the field",
        ~has("name") | it("name").differs("default"),
        reason=FORBIDDEN,
    ),
    rule(
        "service-account-of-jobs",
        _ACCOUNT,
        "name",
        "must not be the ServiceAccount of the Jobs of a cluster, which may read or replace "
        "all of its data; choose another name",
        ~has("name")
        | ~it("name").matches(Pattern(f"({'|'.join(names.JOB_ACCOUNT_SUFFIXES)})$"), mark=""),
        reason=FORBIDDEN,
    ),
    rule(
        "target-token-login",
        "spec",
        "controllerJWTMode",
        "must be Shared unless selfInit.oidc.enabled is true, which creates the login that "
        "checks the audience; set that, or set Shared",
        _MODE.differs("Target") | OPERATOR_LOGIN,
    ),
    rule(
        "target-token-stays",
        "spec",
        "controllerJWTMode",
        "must stay Target once it is set, because the login accepts no other audience; restore it",
        _FORMER_MODE.differs("Target") | _MODE.equals("Target"),
        got=_MODE,
        reason=FORBIDDEN,
    ),
)

# --- the data volume ----------------------------------------------------------------------------

_CLASS, _FORMER_CLASS = both("storageClassName", "")

STORAGE_RULES: tuple[Rule, ...] = (
    rule(
        "storage-size",
        "spec.storage.size",
        "",
        "must be more than 0; for example 10Gi",
        it().is_some(),
    ),
    rule(
        "storage-size-shrinks",
        "spec.storage.size",
        "",
        "must not shrink, because volumes cannot; restore the previous value or set a larger one",
        it().no_smaller_than(it(of="oldSelf")),
        got="self + ' after ' + oldSelf",
    ),
    rule(
        "storage-class-immutable",
        "spec.storage",
        "storageClassName",
        "cannot be set, changed or removed once the cluster exists; restore the previous value "
        "and move the data to a new cluster instead",
        _CLASS.equals(_FORMER_CLASS),
        got=f"'\\'' + {_CLASS} + '\\' after \\'' + {_FORMER_CLASS} + '\\''",
        reason=FORBIDDEN,
    ),
)

# --- fenced pods --------------------------------------------------------------------------------

_FENCED = "spec.fencedPods"
_NUMBER = "p.find('[0-9]+$')"
_REST = "p.substring(size(self.metadata.name) + 1)"
# With fewer digits, the part before the number is not a revision of this cluster.
_IS_WHOLE = (
    f"(size({_REST}) < 3 || "
    f"size(p) - size({_NUMBER}) == {revision_patterns.length('self.metadata.name')} + 1)"
)
# The name is matched before the number is compared, so int() never fails.
_SERVER = (
    "p.startsWith(self.metadata.name + '-') && "
    f"{_REST}.matches('^({revision_patterns.IS_REVISION}-)?(0|[1-9][0-9]?)$') && "
    f"{_IS_WHOLE} && int({_NUMBER}) < {either('spec.replicas', 3)}"
)


def _no_server(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    for pod in new.spec.fenced_pods:
        ordinal = revision_patterns.server_ordinal(new.metadata.name, pod)
        if ordinal is None or ordinal >= new.spec.replicas:
            yield _FENCED, pod


def _too_many(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    if 2 * len(new.spec.fenced_pods) >= new.spec.replicas and new.spec.fenced_pods:
        yield _FENCED, len(new.spec.fenced_pods)


LIFE_RULES: tuple[Rule, ...] = (
    RuleOf(
        "fenced-pod-name",
        "",
        _FENCED,
        "spec.fencedPods must name servers as <cluster>-<number>, or with a revision as "
        "<cluster>-<revision>-<number>, each number below spec.replicas; correct the name, or "
        "remove it before you lower spec.replicas",
        _no_server,
        cel=f"!has(self.spec.fencedPods) || self.spec.fencedPods.all(p, {_SERVER})",
        got="self.spec.fencedPods.filter(p, !p.startsWith(self.metadata.name + '-'))[0]",
    ),
    RuleOf(
        "fenced-pods-majority",
        "spec",
        _FENCED,
        "spec.fencedPods must name less than half of spec.replicas, because the other servers "
        "need a majority; name fewer pods",
        _too_many,
        cel=(
            "!has(self.fencedPods) || size(self.fencedPods) == 0 || "
            f"2 * size(self.fencedPods) < {either('replicas', 3)}"
        ),
    ),
)

# --- scheduling ---------------------------------------------------------------------------------

# Kubernetes API reference, Affinity.
_KINDS = frozenset({"nodeAffinity", "podAffinity", "podAntiAffinity"})
# A long affinity has about fifty values. Each pod contains it, and the scheduler evaluates it for
# each node.
AFFINITY_VALUES_MAX = 500
AFFINITY_TEXT_MAX = 4096


def _unfit(affinity: Mapping[str, Any]) -> str | None:
    leaves = list(_leaves(affinity))
    is_unfit = (
        not affinity.keys() <= _KINDS
        or len(leaves) > AFFINITY_VALUES_MAX
        or any(isinstance(leaf, str) and len(leaf) > AFFINITY_TEXT_MAX for leaf in leaves)
    )
    return ", ".join(sorted(affinity))[:80] if is_unfit else None


def _leaves(value: Any) -> Iterator[Any]:
    """Yield every key and every scalar; the depth of a spec is bounded, so recursion is safe."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield key
            yield from _leaves(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part)
    else:
        yield value


POD_RULES: tuple[Rule, ...] = tuple(
    rule(
        f"affinity-{what}",
        at,
        "",
        "must contain only nodeAffinity, podAffinity and podAntiAffinity, with at most "
        f"{AFFINITY_VALUES_MAX} values of at most {AFFINITY_TEXT_MAX} characters; "
        "correct it as in a pod",
        _unfit,
    )
    for what, at in (
        ("voters", "spec.scheduling.affinity"),
        ("readers", "spec.readReplicas.template.scheduling.affinity"),
    )
)
