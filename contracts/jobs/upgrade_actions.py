"""The actions of the Jobs of an upgrade, as data: eight, with their arguments and durations.

Uses the standard library. Read by contracts.builders.upgrade_job on the one side and by
baoctl.jobs.upgrade.main on the other. Blue is the former pool of servers, green the one that takes
over; a rolling upgrade has one pool and needs neither.
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
        """Seconds after which Kubernetes ends the Job: the start of its pod is in them."""
        return self.seconds + START_SECONDS


START_SECONDS: Final = 20
"""A pod is placed, gets its image, which the node usually has, and starts."""

ACTIONS: Final[Mapping[str, Action]] = {
    # Together a minute, after which managers.upgrade takes the leader for one that does not go.
    STEP_DOWN: Action(40, target=True),
    JOIN: Action(240, pools=True),
    # A new server fetches all data first.
    WAIT: Action(1200, pools=True),
    PROMOTE: Action(120, pools=True),
    DEMOTE: Action(180, pools=True),
    REMOVE_BLUE: Action(120, pools=True),
    REMOVE_GREEN: Action(120, pools=True),
    REPAIR: Action(240, pools=True),
}


@dataclass(frozen=True, slots=True)
class Order:
    """The arguments of one Job. Two orders of a cluster with the same action and run are equal."""

    action: str
    """A key of ACTIONS."""
    run: str
    """Any word that no other run of this action has."""
    target: str = ""
    """Pod that must no longer lead."""
    blue: tuple[str, ...] = ()
    green: tuple[str, ...] = ()
    """Names of all pods of a pool, which are the ids of its raft nodes."""

    def problem(self) -> str:
        """Return what is wrong with it, or "": unknown, incomplete, or a pod in both pools."""
        action = ACTIONS.get(self.action)
        if action is None:
            return f"{self.action!r} is no action of an upgrade"
        if action.target and not self.target:
            return f"{self.action} needs the name of a pod"
        if action.pools and not (self.blue and self.green):
            return f"{self.action} needs the names of all pods of blue and of green"
        both = sorted({*self.blue} & {*self.green})
        return f"{both[0]} cannot be in blue and in green" if both else ""
