"""managers.restore.server_recovery: the verdict for each observed state of the servers."""

from dataclasses import replace

import pytest

from managers.bao.models import Member, ServerHealth
from managers.restore.server_recovery import (
    ReplicationObservation,
    ReplicationProgress,
    ServerObservation,
    ServersObservation,
    evaluate_replication,
    evaluate_servers,
)

LEADS = ServerHealth(initialized=True, sealed=False, standby=False, cluster_id="id")
FOLLOWS = LEADS.model_copy(update={"standby": True})
SEALED = ServerHealth(initialized=True, sealed=True, standby=True)
NAMES = ("c-0", "c-1", "c-2")
MEMBERS = tuple(Member(node_id=name, leader=name == "c-0", voter=True) for name in NAMES)
SERVERS = tuple(
    ServerObservation(name, True, True, True, LEADS if name == "c-0" else FOLLOWS) for name in NAMES
)
FINE = ServersObservation(SERVERS, frozenset(NAMES), MEMBERS)


def with_server(position: int, **changes: object) -> ServersObservation:
    servers = list(SERVERS)
    servers[position] = replace(servers[position], **changes)  # type: ignore[arg-type]
    return replace(FINE, servers=servers)


CASES = {
    "all servers match the spec": (FINE, "Verified"),
    "one was not restarted": (with_server(1, restarted=False), "Restarting"),
    "one is missing": (with_server(1, present=False, ready=False, health=None), "Restarting"),
    "one is still sealed": (with_server(1, ready=False, health=SEALED), "Restarting"),
    "all are sealed": (
        replace(FINE, servers=[replace(server, ready=False, health=SEALED) for server in SERVERS]),
        "Sealed",
    ),
    "one does not answer": (with_server(2, health=None), "Leaderless"),
    "two leaders": (with_server(2, health=LEADS), "Leaderless"),
    "no leader": (with_server(0, health=FOLLOWS), "Leaderless"),
    "one does not know the leader": (with_server(2, knows_leader=False), "Leaderless"),
    "one is of another cluster": (
        with_server(2, health=FOLLOWS.model_copy(update={"cluster_id": "other"})),
        "Leaderless",
    ),
    "the login is refused": (replace(FINE, members=None, refusal="403"), "Refused"),
    "there is no login at all": (replace(FINE, members=None), "Verified"),
    "a member is missing": (replace(FINE, members=MEMBERS[:2]), "MembersDiffer"),
    "a member has no vote": (
        replace(FINE, members=(*MEMBERS[:2], Member(node_id="c-2"))),
        "MembersDiffer",
    ),
    "there is an additional member": (
        replace(FINE, members=(*MEMBERS, Member(node_id="c-9", voter=True))),
        "MembersDiffer",
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_judge(what: str) -> None:
    observed, state = CASES[what]
    verdict = evaluate_servers(observed, fresh=False)
    assert verdict.state == state, verdict.message
    assert verdict.message


def test_the_members_of_a_fresh_cluster_are_not_checked() -> None:
    observed = replace(FINE, members=None, refusal="403: the role is of another cluster")
    assert evaluate_servers(observed, fresh=True).state == "Verified"


def test_the_message_names_the_missing_member() -> None:
    message = evaluate_servers(replace(FINE, members=MEMBERS[:2]), fresh=False).message
    assert "c-0, c-1 as members" in message
    assert "requires c-0, c-1, c-2" in message


def copies(
    *indexes: int | None, leader: str = "c-0", reached: int | None = 9
) -> ReplicationObservation:
    servers = [
        ReplicationProgress(name, index=index) for name, index in zip(NAMES, indexes, strict=True)
    ]
    return ReplicationObservation(servers, leader, reached)


COPIES = {
    "all have the index of the leader": (copies(9, 9, 9), "Replicated"),
    "some have a higher index": (copies(11, 10, 9), "Replicated"),
    "one has the old data": (copies(9, 8, 9), "Replicating"),
    "one does not answer": (copies(9, 9, None), "Replicating"),
    "no leader": (copies(9, 9, 9, leader="", reached=None), "Replicating"),
    "the index of the leader is unknown": (copies(9, 9, 9, reached=None), "Replicating"),
    "one is sealed, and may have the old data": (
        ReplicationObservation(
            [ReplicationProgress("c-0", index=9), ReplicationProgress("c-1", sealed=True)], "c-0", 9
        ),
        "Replicating",
    ),
    "all are sealed": (
        ReplicationObservation([ReplicationProgress(name, sealed=True) for name in NAMES]),
        "Sealed",
    ),
}


@pytest.mark.parametrize("what", COPIES)
def test_judge_copies(what: str) -> None:
    observed, state = COPIES[what]
    assert evaluate_replication(observed).state == state


def test_the_message_names_the_servers_without_the_data() -> None:
    message = evaluate_replication(copies(9, 8, None)).message
    assert message == "waits until these servers have the data of the leader c-0: c-1, c-2"
