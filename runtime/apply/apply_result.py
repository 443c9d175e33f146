"""The result of applying an intent, and the consequence of each error of the server.

Pure. `Applied` is a separate type, so that status cannot be computed from plans. Created by
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
    """The consequence of an error response to an apply."""

    REJECTED = "a verdict; not sent again until the intent or the object changes"
    TERMINATING = "a verdict: the namespace is being deleted, and nothing can be created in it"
    READ_AGAIN = "Transient: the object is not the one that was read"
    TERMINAL = "TerminalError: the server does not support the request"
    RAISED = "raised unchanged: the caller's backoff and the server's Retry-After apply"


REFUSALS: Mapping[type[ApiError], Refusal] = {
    # The content is invalid: the same bytes get the same response.
    Invalid: Refusal.REJECTED,
    MalformedApply: Refusal.REJECTED,
    BadRequest: Refusal.REJECTED,
    RequestTooLarge: Refusal.REJECTED,
    NamespaceTerminating: Refusal.TERMINATING,
    # The object changed. Only a read, never a failed write, shows its owner.
    Conflict: Refusal.READ_AGAIN,
    ApplyConflict: Refusal.READ_AGAIN,
    AlreadyExists: Refusal.READ_AGAIN,
    UnsupportedMediaType: Refusal.TERMINAL,
    # All others: exceeded quotas, RBAC, a missing kind or namespace, overload, unknown errors.
    ApiError: Refusal.RAISED,
}


def refusal_of(error: ApiError) -> Refusal:
    """Look up the class of an error in the table, or the nearest base class."""
    return next(REFUSALS[kind] for kind in type(error).__mro__ if kind in REFUSALS)


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of one intent; the status step accepts only this."""

    intent: Intent
    verdict: Verdict
    live: Object | None
    message: str = ""

    @property
    def in_place(self) -> bool:
        """Whether the object now matches its intent."""
        return self.verdict in (Verdict.SKIPPED, Verdict.CREATED, Verdict.UPDATED)
