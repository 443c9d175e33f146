"""Changes the Markdown for the docs site (`hooks` of mkdocs.yml).

State diagrams are in Mermaid, which code hosts render. A browser would need a script of several
megabytes to render them, so the site shows the transitions as a table. References to pages (`see
docs/rollouts.md`) become links. Uses only the standard library, because MkDocs calls this module in
an environment without the dependencies of the operator. Pure.
"""

import re
from typing import Any

_DIAGRAM = re.compile(r"^```mermaid\nstateDiagram-v2\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ARROW = re.compile(r"\s*(\S+) --> (\S+?)(?:: (.*))?")
_PAGE = re.compile(r"(?<![\w/\[(`])docs/([a-z0-9-]+\.md)\b")


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Return the Markdown of a page of MkDocs for the site."""
    up = "../" * page.file.src_uri.count("/")
    return _PAGE.sub(rf"[docs/\1]({up}\1)", _DIAGRAM.sub(_table, markdown))


def _table(diagram: re.Match[str]) -> str:
    arrows = [arrow for line in diagram[1].splitlines() if (arrow := _ARROW.fullmatch(line))]
    lines = ["| from | to | when / what is done |", "|---|---|---|"]
    lines += [
        f"| {'(start)' if state == '[*]' else state} | {to} | {_alternatives(label or '')} |"
        for state, to, label in (arrow.groups() for arrow in arrows)
    ]
    return "\n".join(lines)


def _alternatives(label: str) -> str:
    return "<br>or ".join(label.split(", or "))
