"""The actions of upgrade Jobs as data, with their arguments and durations.

Uses the standard library. Read by contracts.builders.upgrade_job and by baoctl.jobs.upgrade.main.
Blue is the former pool of servers, green the pool that takes over; a rolling upgrade has one pool
and uses neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

STEP_DOWN: Final = "rolling-stepdown-leader"
JOIN: Final = "bluegreen-join-green-nonvoters"
WAIT: Final = "bluegreen-wait-green-synced"
PROMOTE: Final = "bluegreen-promote-green-voters"
DEMOTE: Final = "bluegreen-demote-blue-nonvoters-stepdown"
REMOVE_BLUE: Final = "bluegreen-remove-blue-peers"
REMOVE_GREEN: Final = "bluegreen-remove-green-peers"
REPAIR: Final = "bluegreen-repair-consensus"


@dataclass(frozen=True, slots=True)
class Action:
    """One action: the seconds that its work may take, and its required arguments."""

    seconds: int
    target: bool = False
    """The name of one pod."""
    pools: bool = False
    """The names of all pods of blue, and of all pods of green."""

    @property
    def deadline(self) -> int:
        """activeDeadlineSeconds of the Job, including the start of its pod."""
        return self.seconds + START_SECONDS


START_SECONDS: Final = 20
"""Time until a pod is scheduled and started; the node usually has the image."""

ACTIONS: Final[Mapping[str, Action]] = {
    # With START_SECONDS one minute, after which managers.upgrade reports that the leader stays.
    STEP_DOWN: Action(40, target=True),
    JOIN: Action(240, pools=True),
    # A new server first copies all data.
    WAIT: Action(1200, pools=True),
    PROMOTE: Action(120, pools=True),
    DEMOTE: Action(180, pools=True),
    REMOVE_BLUE: Action(120, pools=True),
    REMOVE_GREEN: Action(120, pools=True),
    REPAIR: Action(240, pools=True),
}


@dataclass(frozen=True, slots=True)
class Order:
    """The arguments of one Job. Orders of a cluster with the same action and run are equal."""

    action: str
    """A key of ACTIONS."""
    run: str
    """Id that is unique among the runs of this action."""
    target: str = ""
    """Pod that must no longer be leader."""
    blue: tuple[str, ...] = ()
    green: tuple[str, ...] = ()
    """Names of all pods of a pool, which are the ids of its raft nodes."""

    def problem(self) -> str:
        """Return why the order is invalid: unknown, incomplete, or a pod in both pools; else ""."""
        action = ACTIONS.get(self.action)
        if action is None:
            return f"{self.action!r} is not an action of an upgrade"
        if action.target and not self.target:
            return f"{self.action} needs the name of a pod"
        if action.pools and not (self.blue and self.green):
            return f"{self.action} needs the names of all pods of blue and of green"
        both = sorted({*self.blue} & {*self.green})
        return f"{both[0]} cannot be in both blue and green" if both else ""
