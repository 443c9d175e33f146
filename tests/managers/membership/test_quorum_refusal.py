"""managers.membership.quorum_refusal.

The meaning of a refused quorum read.
"""

import pytest

from contracts.records.observed import Quorum
from managers.membership.quorum_refusal import LOGIN, MEMBERS, STATE, TOKEN, interpret
from tests import gen

OIDC = {"enabled": True, "oidc": {"enabled": True}}
ANSWERED = {"adminOps": {"raft": {"voters": 3, "nonVoters": 0, "leader": "x-0"}}}
OWN = gen.cluster(selfInit=OIDC).initialized()
STORED = gen.cluster().initialized()
REFUSED = Quorum(error=f"{MEMBERS} answered 403: permission denied", refused_path=MEMBERS)


@pytest.mark.parametrize("cluster", [OWN, STORED])
def test_without_an_earlier_response_the_pods_decide(cluster: gen.Cluster) -> None:
    """The cluster never had such a login, so the refusal is no change."""
    assert interpret(REFUSED, cluster.read()) is None
    empty = cluster.with_status(adminOps={"lastError": {"reason": "MembershipUnknown"}})
    assert interpret(REFUSED, empty.read()) is None


@pytest.mark.parametrize("answer", [Quorum(error="no answer"), Quorum()])
def test_other_results_are_unchanged(answer: Quorum) -> None:
    assert interpret(answer, OWN.read()) is answer
    assert interpret(answer, OWN.with_status(**ANSWERED).read()) is answer


# sentence: (cluster, refused path, words of the next step)
STEPS: dict[str, tuple[gen.Cluster, str, tuple[str, ...]]] = {
    "a policy without the members": (OWN, MEMBERS, ("policy openbao-operator", "read", MEMBERS)),
    "a policy without the autopilot": (OWN, STATE, ("policy openbao-operator", "read", STATE)),
    "a role that refuses the account": (OWN, LOGIN, ("role openbao-operator", "OperatorLog")),
    "no token of the API server": (OWN, TOKEN, ("create", TOKEN)),
    "a narrowed policy after a first boot with a root token": (
        STORED,
        MEMBERS,
        ("policy openbao-operator", "read", MEMBERS),
    ),
    "a removed login": (
        STORED,
        LOGIN,
        ("role openbao-operator", "Secret x-root-token", "OperatorLoginReady"),
    ),
    "another path": (OWN, "sys/leader", ("sys/leader", "without a login")),
}


@pytest.mark.parametrize(("cluster", "path", "words"), STEPS.values(), ids=STEPS.keys())
def test_after_earlier_responses_the_error_has_the_next_step(
    cluster: gen.Cluster, path: str, words: tuple[str, ...]
) -> None:
    answer = Quorum(error=f"{path} answered 403: permission denied", refused_path=path)
    quorum = gen.present(interpret(answer, cluster.with_status(**ANSWERED).read()))
    assert quorum.refused_path == path
    assert quorum.error.startswith(answer.error)
    for word in words:
        assert word in quorum.error.removeprefix(answer.error)
