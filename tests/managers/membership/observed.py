"""The members of a cluster as the servers report them."""

from managers.bao.models import Member
from managers.membership.decide import Answers

ONE_CLUSTER = {"x-0": "c1", "x-1": "c1", "x-2": "c1"}


def members(voters: int, others: int = 0, leader: int | None = 0) -> tuple[Member, ...]:
    return tuple(
        Member(node_id=f"x-{n}", leader=n == leader, voter=n < voters)
        for n in range(voters + others)
    )


def answers(
    found: tuple[Member, ...] | None = None,
    ids: dict[str, str] | None = None,
    error: str = "",
    unusable: str = "",
) -> Answers:
    return Answers(ONE_CLUSTER if ids is None else ids, found, error, unusable=unusable)
