"""The table of reasons that a page of docs contains."""

from collections.abc import Iterable

from contracts.conditions.reason import Reason


def reason_table(reasons: Iterable[Reason]) -> str:
    """The rows between the two comments that mark the table."""
    lines = ["| reason | what it means | next step |", "| --- | --- | --- |"]
    lines += [
        f"| {reason.name} | {_escaped(reason.meaning)} | {_escaped(reason.next_step)} |"
        for reason in reasons
    ]
    rows = "\n".join(lines)
    return f"<!-- reasons -->\n{rows}\n<!-- end of reasons"


def _escaped(text: str) -> str:
    """Escape placeholders outside of code, which Markdown would read as tags."""
    parts = text.split("`")
    parts[::2] = [part.replace("<", "&lt;").replace(">", "&gt;") for part in parts[::2]]
    return "`".join(parts)
