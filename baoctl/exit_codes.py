"""Exit statuses of the verbs of `baoctl`, in one table, and the error that ends a verb with one.

Uses the standard library alone at import. Read by every verb and by the page docs/cli.md. Jobs have
exit statuses of their own (contracts.exit_codes).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import ClassVar, Final


class ExitCode(IntEnum):
    """How a verb ended, for a script."""

    GOOD = 0
    ERROR = 1
    USAGE = 2
    NOT_READY = 3
    REFUSED = 4
    NOT_FOUND = 5
    NO_ACCESS = 6


MEANINGS: Final[Mapping[ExitCode, str]] = {
    ExitCode.GOOD: "It was done, and what was looked at is as it should be.",
    ExitCode.ERROR: "It failed; the message names the next step.",
    ExitCode.USAGE: "The arguments, or the settings of the environment, make no sense.",
    ExitCode.NOT_READY: "There is an answer, and it is: not ready, waiting, or something is wrong.",
    ExitCode.REFUSED: "The operator, the API server or a rule refuses it.",
    ExitCode.NOT_FOUND: "There is no such object.",
    ExitCode.NO_ACCESS: (
        "The API server cannot be reached, does not know who asks, or denies the right."
    ),
}


class VerbError(Exception):
    """A verb cannot do what was asked; one line, with a next step, fit for a terminal."""

    usual: ClassVar[ExitCode] = ExitCode.ERROR

    def __init__(self, text: str, code: ExitCode | None = None) -> None:
        # The bounds of a message come with the types of the API, which `--help` does not need.
        from contracts.conditions.message import clean_message

        super().__init__(clean_message(text))
        self.exit_code = self.usual if code is None else code
