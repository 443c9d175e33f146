"""The exit statuses of the verbs of `baoctl`, and the error that ends a verb with one.

Uses contracts.conditions.message. Called by every verb, and by baoctl.generate for docs/cli.md.
Jobs have other exit statuses (contracts.exit_codes).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import ClassVar, Final


class ExitCode(IntEnum):
    """The result of a verb, for scripts."""

    GOOD = 0
    ERROR = 1
    USAGE = 2
    NOT_READY = 3
    REFUSED = 4
    NOT_FOUND = 5
    NO_ACCESS = 6


MEANINGS: Final[Mapping[ExitCode, str]] = {
    ExitCode.GOOD: "The command succeeded, and the objects are as expected.",
    ExitCode.ERROR: "The command failed; the message names the next step.",
    ExitCode.USAGE: "The arguments, or settings of the environment, are invalid.",
    ExitCode.NOT_READY: "The command succeeded, but an object is not ready or has a problem.",
    ExitCode.REFUSED: "The operator, the API server or a rule refuses the request.",
    ExitCode.NOT_FOUND: "The object does not exist, or a file contains no object for the command.",
    ExitCode.NO_ACCESS: (
        "The API server cannot be reached, or it does not accept the credentials or the request."
    ),
}


class VerbError(Exception):
    """A verb failed; the text is one line for a terminal, with a next step."""

    default_exit_code: ClassVar[ExitCode] = ExitCode.ERROR

    def __init__(self, text: str, code: ExitCode | None = None) -> None:
        # Imported here: the module imports the types of the API, which `--help` does not need.
        from contracts.conditions.message import clean_message

        super().__init__(clean_message(text))
        self.exit_code = self.default_exit_code if code is None else code
