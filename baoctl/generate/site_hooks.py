"""Changes of the Markdown for the site of the docs (`hooks` of mkdocs.yml).

A state diagram is Mermaid, which code hosts draw. In a browser that would need a script of several
megabytes, so the site shows the same arrows as a table. A text of the product that names a page
(`see docs/rollouts.md`) becomes a link. Uses the standard library, because it is called by MkDocs
in an environment without the operator's dependencies. Pure.
"""

import re
from typing import Any

_DIAGRAM = re.compile(r"^```mermaid\nstateDiagram-v2\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ARROW = re.compile(r"\s*(\S+) --> (\S+?)(?:: (.*))?")
_PAGE = re.compile(r"(?<![\w/\[(`])docs/([a-z0-9-]+\.md)\b")


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Return the Markdown of a page (of MkDocs) as the site shows it."""
    up = "../" * page.file.src_uri.count("/")
    return _PAGE.sub(rf"[docs/\1]({up}\1)", _DIAGRAM.sub(_table, markdown))


def _table(diagram: re.Match[str]) -> str:
    arrows = [found for line in diagram[1].splitlines() if (found := _ARROW.fullmatch(line))]
    lines = ["| from | to | when / what is done |", "|---|---|---|"]
    lines += [
        f"| {'(start)' if at == '[*]' else at} | {to} | {_alternatives(label or '')} |"
        for at, to, label in (arrow.groups() for arrow in arrows)
    ]
    return "\n".join(lines)


def _alternatives(label: str) -> str:
    return "<br>or ".join(label.split(", or "))
