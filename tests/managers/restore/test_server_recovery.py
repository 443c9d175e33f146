"""managers.restore.server_recovery: what is seen of servers, and what it means."""

from dataclasses import replace

import pytest

from managers.bao.models import Member, ServerHealth
from managers.restore.server_recovery import (
    CopiesSeen,
    CopySeen,
    ServerSeen,
    ServersSeen,
    judge,
    judge_copies,
)

LEADS = ServerHealth(initialized=True, sealed=False, standby=False, cluster_id="id")
FOLLOWS = LEADS.model_copy(update={"standby": True})
SEALED = ServerHealth(initialized=True, sealed=True, standby=True)
NAMES = ("c-0", "c-1", "c-2")
MEMBERS = tuple(Member(node_id=name, leader=name == "c-0", voter=True) for name in NAMES)
SERVERS = tuple(
    ServerSeen(name, True, True, True, LEADS if name == "c-0" else FOLLOWS) for name in NAMES
)
FINE = ServersSeen(SERVERS, frozenset(NAMES), MEMBERS)


def with_server(position: int, **changes: object) -> ServersSeen:
    servers = list(SERVERS)
    servers[position] = replace(servers[position], **changes)  # type: ignore[arg-type]
    return replace(FINE, servers=servers)


CASES = {
    "all is well": (FINE, "Verified"),
    "one was not restarted": (with_server(1, restarted=False), "Restarting"),
    "one is away": (with_server(1, present=False, ready=False, health=None), "Restarting"),
    "one is sealed, as at its start": (with_server(1, ready=False, health=SEALED), "Restarting"),
    "all are sealed": (
        replace(FINE, servers=[replace(one, ready=False, health=SEALED) for one in SERVERS]),
        "Sealed",
    ),
    "one does not answer": (with_server(2, health=None), "Leaderless"),
    "two lead": (with_server(2, health=LEADS), "Leaderless"),
    "nobody leads": (with_server(0, health=FOLLOWS), "Leaderless"),
    "one does not know who leads": (with_server(2, led=False), "Leaderless"),
    "one is of another cluster": (
        with_server(2, health=FOLLOWS.model_copy(update={"cluster_id": "other"})),
        "Leaderless",
    ),
    "the login is refused": (replace(FINE, members=None, refused="403"), "Refused"),
    "there is no login at all": (replace(FINE, members=None), "Verified"),
    "a member is missing": (replace(FINE, members=MEMBERS[:2]), "Astray"),
    "a member has no vote": (
        replace(FINE, members=(*MEMBERS[:2], Member(node_id="c-2"))),
        "Astray",
    ),
    "there is one too many": (
        replace(FINE, members=(*MEMBERS, Member(node_id="c-9", voter=True))),
        "Astray",
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_what_is_seen_has_its_meaning(what: str) -> None:
    seen, state = CASES[what]
    found = judge(seen, fresh=False)
    assert found.state == state, found.message
    assert found.message


def test_of_a_fresh_cluster_nobody_asks_for_the_members() -> None:
    seen = replace(FINE, members=None, refused="403: the role is of another cluster")
    assert judge(seen, fresh=True).state == "Verified"


def test_who_is_missing_is_told_by_name() -> None:
    told = judge(replace(FINE, members=MEMBERS[:2]), fresh=False).message
    assert "c-0, c-1 as members" in told
    assert "requires c-0, c-1, c-2" in told


def copies(*indexes: int | None, leader: str = "c-0", reached: int | None = 9) -> CopiesSeen:
    found = [CopySeen(name, index=index) for name, index in zip(NAMES, indexes, strict=True)]
    return CopiesSeen(found, leader, reached)


COPIES = {
    "all are as far as the leader was": (copies(9, 9, 9), "Spread"),
    "the others went on meanwhile": (copies(11, 10, 9), "Spread"),
    "one has the data before": (copies(9, 8, 9), "Spreading"),
    "one does not answer": (copies(9, 9, None), "Spreading"),
    "nobody leads": (copies(9, 9, 9, leader="", reached=None), "Spreading"),
    "the leader does not say how far it is": (copies(9, 9, 9, reached=None), "Spreading"),
    "one is sealed, and may have the data before": (
        CopiesSeen([CopySeen("c-0", index=9), CopySeen("c-1", sealed=True)], "c-0", 9),
        "Spreading",
    ),
    "all are sealed": (CopiesSeen([CopySeen(name, sealed=True) for name in NAMES]), "Sealed"),
}


@pytest.mark.parametrize("what", COPIES)
def test_how_far_the_data_are_has_its_meaning(what: str) -> None:
    seen, state = COPIES[what]
    assert judge_copies(seen).state == state


def test_who_has_not_got_the_data_is_told_by_name() -> None:
    told = judge_copies(copies(9, 8, None)).message
    assert told == "waits until these servers have the data of the leader c-0: c-1, c-2"
