"""docs/restore.md lists the reasons of the code."""

from pathlib import Path

from contracts.conditions.reasons_restore import RESTORE_REASONS

PAGE = (Path(__file__).parents[3] / "docs" / "restore.md").read_text(encoding="utf-8")


def escaped(text: str) -> str:
    """Escape placeholders outside of code, which Markdown would read as tags."""
    parts = text.split("`")
    parts[::2] = [part.replace("<", "&lt;").replace(">", "&gt;") for part in parts[::2]]
    return "`".join(parts)


def reasons() -> str:
    lines = ["| reason | what it means | next step |", "| --- | --- | --- |"]
    lines += [
        f"| {reason.name} | {escaped(reason.meaning)} | {escaped(reason.next_step)} |"
        for reason in RESTORE_REASONS.values()
    ]
    return "\n".join(lines)


def test_the_page_shows_every_reason() -> None:
    assert f"<!-- reasons -->\n{reasons()}\n<!-- end of reasons" in PAGE
