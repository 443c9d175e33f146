"""The failure of a job: a class that determines its exit status, and a message.

Uses contracts.exit_codes. Every step of a job raises it; baoctl.jobs.main reports it.
"""

from __future__ import annotations

import re

from contracts.exit_codes import EXIT_CODES, FailureClass

MESSAGE_MAX = 1000
"""Maximum length in characters; the schema of the status permits 1024."""
_QUERY = re.compile(r"(https?://[^\s?]+)\?[^\s)]*")
_NOT_PRINTABLE = re.compile(r"[^\x20-\x7e]+")


class JobFailure(Exception):  # noqa: N818  named after what happened
    """The job failed; `failure` is the class of the step that failed."""

    def __init__(self, failure: FailureClass, message: str) -> None:
        super().__init__(shorten(message))
        self.failure: FailureClass = failure

    @property
    def exit_code(self) -> int:
        """Exit status of the process."""
        return EXIT_CODES[self.failure]


def shorten(text: str) -> str:
    """Return one line of printable ASCII without URL queries, which may contain signatures."""
    line = _NOT_PRINTABLE.sub(" ", _QUERY.sub(r"\1", text)).strip()
    return line if len(line) <= MESSAGE_MAX else f"{line[: MESSAGE_MAX - 3]}..."
