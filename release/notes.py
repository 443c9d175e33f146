"""The release notes: the sentences of `changes`, sorted by kind. Pure."""

from collections.abc import Iterable, Mapping

# The most urgent kind first.
_HEADINGS: Mapping[str, str] = {
    "security": "Security",
    "removed": "Removed",
    "changed": "Changed",
    "fixed": "Fixed",
    "added": "Added",
}


def release_notes(version: str, changes: Iterable[tuple[str, str]]) -> str:
    """Return Markdown with a chapter per kind.

    `changes` are the names and texts of the files. Raises ValueError for a name without a kind.
    """
    by_kind: dict[str, list[str]] = {kind: [] for kind in _HEADINGS}
    for name, text in sorted(changes):
        kind = name.removesuffix(".md").rpartition(".")[2]
        if kind not in by_kind:
            raise ValueError(f"changes/{name}: must end with .{'|'.join(_HEADINGS)}.md")
        by_kind[kind].append(" ".join(text.split()))
    chapters = (
        f"\n## {_HEADINGS[kind]}\n\n" + "".join(f"- {text}\n" for text in texts)
        for kind, texts in by_kind.items()
        if texts
    )
    return f"# openbao-operator {version}\n" + "".join(chapters)
