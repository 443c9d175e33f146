"""contracts.naming.revision_patterns.

The pod name identifies a server of any revision, as contracts.pools.voter_pool names it.
"""

import pytest

from contracts.naming import revision_patterns
from contracts.naming.revision_patterns import stateful_set_of
from contracts.pools.voter_pool import REVISION_DIGITS, ServerPool

REVISION = "0123456789abcdef"
CLUSTERS = ("c", "a-b", "c" * 34, "c" * 35, "c" * 36, "c" * 40)


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("revision", ["", REVISION])
def test_every_pod_name_is_recognized(cluster: str, revision: str) -> None:
    pods = [ServerPool(cluster, revision).pod(ordinal) for ordinal in (0, 2, 14)]
    assert [revision_patterns.server_ordinal(cluster, pod) for pod in pods] == [0, 2, 14]


STRANGE = {
    "another cluster": "d-1",
    "no number": "c-x",
    "a number with a zero before it": "c-01",
    "a read replica": "c-read-0",
    "a revision alone": f"c-{REVISION}",
    "too few digits": f"c-{REVISION[:-1]}-0",
    "too many digits": f"c-{REVISION}0-0",
    "letters that are not digits": f"c-{'g' * REVISION_DIGITS}-0",
    "uppercase digits": f"c-{REVISION.upper()}-0",
    "nothing between": "c--0",
    "no number after the name": "c-",
    "no number after a revision": f"c-{REVISION}-x",
    "another cluster with a revision": f"d-{REVISION}-0",
    "a backup of the cluster": f"backup-c-{REVISION}",
    "the cluster": "c",
    "nothing": "",
}


@pytest.mark.parametrize("pod", STRANGE.values(), ids=STRANGE)
def test_other_names_are_not_server_pods(pod: str) -> None:
    assert revision_patterns.server_ordinal("c", pod) is None


@pytest.mark.parametrize("pod", [*STRANGE.values(), "c-0", f"c-{REVISION}-0", f"c-{REVISION}-14"])
def test_pod_names_and_stateful_set_names_agree(pod: str) -> None:
    known = revision_patterns.server_ordinal("c", pod) is not None
    assert known == (stateful_set_of("c", pod) is not None)


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_cel_and_python_agree_on_name_lengths(cluster: str) -> None:
    longest, whole = (
        len(ServerPool(name, REVISION).stateful_set) - extra
        for name, extra in (("c" * 40, 0), ("c", 1))
    )
    text = f"(size(n) > {longest - whole} ? {longest} : size(n) + {whole})"
    count = longest if len(cluster) > longest - whole else len(cluster) + whole
    assert revision_patterns.length("n") == text
    assert count == len(ServerPool(cluster, REVISION).stateful_set)
