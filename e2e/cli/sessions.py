"""The sessions of docs/cli-sessions.md: their format, and what may differ between two runs.

Pure. A page has the literal output. Two outputs are the same if they are equal after PATTERNS.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

PATTERNS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), word)
    for pattern, word in (
        (r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ-[0-9a-f]{8}", "KEY"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?", "TIME"),
        (r"\d{4}-\d\d-\d\d\b", "DATE"),
        (r"\d{8}-\d{6}|\d{8}T\d{6}Z", "TIME"),
        (r"\b\d+(\.\d+)?(ms|s|m|h|d)\b", "AGE"),
        (r"\b\d+ days left", "N days left"),
        (r"\b\d+(\.\d+)? (bytes|[KM]iB)\b", "SIZE"),
        (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UID"),
        (r"\b\d{1,3}(\.\d{1,3}){3}\b", "ADDRESS"),
        # The suffix that Kubernetes appends to the name of a revision, or of the pod of a Job.
        (r"-(?=[0-9a-z]*[0-9])[0-9a-z]{5,10}(?=\s|$)", "-HASH"),
        # A poll once a second misses some phases of a run.
        (r"^(Pending|Running)\b.*", ""),
        # Any server may be the leader.
        (r"\b(leader|standby)\b", "ROLE"),
        (r"\bbao-[0-9]\b", "SERVER"),
        # The width of a column depends on its values.
        (r"\s+", " "),
    )
)
PROMPT: Final = "$ kubectl bao "
_NOT_READY: Final = 3
_STATUS: Final = "# exit status "
_TITLE: Final = "## "
_FENCE: Final = "```"
_BLOCK: Final = re.compile(rf"^{_FENCE}console\n(.*?)^{_FENCE}$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Session:
    """One call of a verb, as the page shows it."""

    title: str
    """The title of its chapter."""
    words: str
    """The arguments of `kubectl bao`, as typed."""
    lines: tuple[str, ...]
    status: int = 0

    def normal(self) -> tuple[str, ...]:
        """Return command, output and exit status, without the parts that may differ.

        The output for a cluster that is not ready is omitted: it depends on the moment.
        """
        body = () if self.status == _NOT_READY else (normal(line) for line in self.lines)
        return (normal(self.words), *(line for line in body if line), f"exit status {self.status}")


def normal(line: str) -> str:
    """Return a line without the parts that may differ."""
    for pattern, word in PATTERNS:
        line = pattern.sub(word, line)
    return line.strip()


def page(head: str, sessions: Iterable[Session]) -> str:
    """Write a page."""
    parts, title = [head.rstrip()], ""
    for session in sessions:
        if session.title != title:
            title = session.title
            parts.append(f"{_TITLE}{title}")
        ending = [f"{_STATUS}{session.status}"] if session.status else []
        body = "\n".join((f"{PROMPT}{session.words}", *session.lines, *ending))
        parts.append(f"{_FENCE}console\n{body}\n{_FENCE}")
    return "\n\n".join(parts) + "\n"


def read(text: str) -> Iterator[Session]:
    """Read the sessions of a page."""
    for chapter in text.split(f"\n{_TITLE}")[1:]:
        title, _, body = chapter.partition("\n")
        for block in _BLOCK.findall(body):
            yield _session(title, block.splitlines())


def _session(title: str, block: list[str]) -> Session:
    words, *lines = block
    status = 0
    if lines and lines[-1].startswith(_STATUS):
        status = int(lines.pop().removeprefix(_STATUS))
    return Session(title, words.removeprefix(PROMPT), tuple(lines), status)
