"""managers.membership.quorum_refusal.

What it means that OpenBao refuses the question about the quorum.
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
def test_who_never_got_an_answer_goes_by_the_pods(cluster: gen.Cluster) -> None:
    """An older operator made it, or its first boot was without a login: nothing got worse."""
    assert interpret(REFUSED, cluster.read()) is None
    empty = cluster.with_status(adminOps={"lastError": {"reason": "MembershipUnknown"}})
    assert interpret(REFUSED, empty.read()) is None


@pytest.mark.parametrize("answer", [Quorum(error="no answer"), Quorum()])
def test_what_is_no_refusal_is_taken_as_it_is(answer: Quorum) -> None:
    assert interpret(answer, OWN.read()) is answer
    assert interpret(answer, OWN.with_status(**ANSWERED).read()) is answer


# sentence: (cluster, path that was refused, words of the next step)
STEPS: dict[str, tuple[gen.Cluster, str, tuple[str, ...]]] = {
    "a policy without the members": (OWN, MEMBERS, ("policy openbao-operator", "read", MEMBERS)),
    "a policy without the autopilot": (OWN, STATE, ("policy openbao-operator", "read", STATE)),
    "a role that takes the account no more": (OWN, LOGIN, ("role openbao-operator", "OperatorLog")),
    "no token of the API server": (OWN, TOKEN, ("create", TOKEN)),
    "a policy that was narrowed after a first boot with a root token": (
        STORED,
        MEMBERS,
        ("policy openbao-operator", "read", MEMBERS),
    ),
    "a login that was taken away": (
        STORED,
        LOGIN,
        ("role openbao-operator", "Secret x-root-token", "OperatorLoginReady"),
    ),
    "something in between": (OWN, "sys/leader", ("sys/leader", "without a login")),
}


@pytest.mark.parametrize(("cluster", "path", "words"), STEPS.values(), ids=STEPS.keys())
def test_who_got_answers_before_is_told_what_to_do(
    cluster: gen.Cluster, path: str, words: tuple[str, ...]
) -> None:
    answer = Quorum(error=f"{path} answered 403: permission denied", refused_path=path)
    quorum = gen.present(interpret(answer, cluster.with_status(**ANSWERED).read()))
    assert quorum.refused_path == path
    assert quorum.error.startswith(answer.error)
    for word in words:
        assert word in quorum.error.removeprefix(answer.error)
