"""What became of an intent, and what each refusal of the server means for one.

Pure. `Applied` is a type of its own, so that status cannot be computed from plans. Made by
`runtime.apply.apply`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from runtime.apply.intent import Intent
from runtime.errors import (
    AlreadyExists,
    ApiError,
    ApplyConflict,
    BadRequest,
    Conflict,
    Invalid,
    MalformedApply,
    NamespaceTerminating,
    RequestTooLarge,
    UnsupportedMediaType,
)
from runtime.types import Object
from runtime.verdict import Verdict


class Refusal(Enum):
    """What follows from an error that answers an apply."""

    REJECTED = "a verdict; not asked again until the intent or the object changes"
    LEAVING = "a verdict: the namespace goes away, and nothing can be made in it"
    LOOK_AGAIN = "Transient: the object is not the one that was looked at"
    TERMINAL = "TerminalError: this program and this server do not fit together"
    RAISED = "raised as it is: the caller's backoff, and the server's Retry-After, apply"


REFUSALS: Mapping[type[ApiError], Refusal] = {
    # About the content: the same bytes get the same answer.
    Invalid: Refusal.REJECTED,
    MalformedApply: Refusal.REJECTED,
    BadRequest: Refusal.REJECTED,
    RequestTooLarge: Refusal.REJECTED,
    NamespaceTerminating: Refusal.LEAVING,
    # About the object. Only a look, never a failed write, tells whose it is.
    Conflict: Refusal.LOOK_AGAIN,
    ApplyConflict: Refusal.LOOK_AGAIN,
    AlreadyExists: Refusal.LOOK_AGAIN,
    UnsupportedMediaType: Refusal.TERMINAL,
    # All others are about the moment, the rights or the kind: used-up quotas, RBAC, a kind or a
    # namespace that is not there, load, and whatever nobody has thought of.
    ApiError: Refusal.RAISED,
}


def refusal_of(error: ApiError) -> Refusal:
    """Look the class of an error up in the table, or the nearest one that it derives from."""
    return next(REFUSALS[kind] for kind in type(error).__mro__ if kind in REFUSALS)


@dataclass(frozen=True, slots=True)
class Applied:
    """The answer to one intent; the status step accepts this and nothing else."""

    intent: Intent
    verdict: Verdict
    live: Object | None
    message: str = ""

    @property
    def in_place(self) -> bool:
        """Whether the object is now as we want it."""
        return self.verdict in (Verdict.SKIPPED, Verdict.CREATED, Verdict.UPDATED)
