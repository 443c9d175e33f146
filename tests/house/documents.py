"""Rules about documents, change fragments, lock files and the Makefile.

Uses the standard library and pyyaml. Every function takes text and returns its violations.
"""

import posixpath
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from typing import Any

import yaml

CHANGE_KINDS = ("added", "changed", "fixed", "removed", "security")

_ADR = re.compile(r"(\d{8})-[a-z0-9]+(-[a-z0-9]+)*\.md")
_ADR_CHAPTER = re.compile(
    r"## (Context|Decision|Rationale|Consequences|Alternative.*|Amendment, \d{4}-\d\d-\d\d)"
)
_CHANGE = re.compile(rf"[a-z0-9]+(-[a-z0-9]+)*\.({'|'.join(CHANGE_KINDS)})\.md")
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[a-z,]+\])?==([^\s;]+)", re.MULTILINE)
_REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+")
_TARGET = re.compile(r"^([a-z][a-z0-9-]*):(?!=)", re.MULTILINE)
_QUOTED = re.compile(r"`([^`\s]+)`")
_PATH = re.compile(r"[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*/?")
_MODULE = re.compile(r"(?:baoctl|managers|contracts|runtime|e2e)(?:\.[a-z_0-9]+)+")
_DOCUMENT = re.compile(r"\bdocs/[a-z0-9/-]+\.md\b")
_FENCE = re.compile(r"^[ ]*```.*?^[ ]*```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"^[ ]*```.*?^[ ]*```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\])\(([^()\s]+)\)")
_HEADING = re.compile(r"^##* (.*)$", re.MULTILINE)
_FENCED = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)


def adr_problems(name: str, text: str) -> Iterator[str]:
    """A decision is called YYYYMMDD-title.md, has a title, and says what was decided and why.

    The chapters are those of most architecture decision records.
    """
    match = _ADR.fullmatch(name)
    if match is None or not _is_date(match[1]):
        yield f"{name}: not YYYYMMDD-title.md"
    if not text.startswith("# "):
        yield f"{name}: no title in the first line"
    chapters = [line for line in text.splitlines() if line.startswith("## ")]
    for heading in ("## Decision", "## Rationale"):
        if heading not in chapters:
            yield f"{name}: no chapter {heading!r}"
    for chapter in chapters:
        if _ADR_CHAPTER.fullmatch(chapter) is None:
            yield f"{name}: chapter {chapter!r} has another name in the other decisions"


def _is_date(digits: str) -> bool:
    try:
        date.fromisoformat(digits)
    except ValueError:
        return False
    return True


def change_problems(name: str, text: str) -> Iterator[str]:
    """A fragment is called what.kind.md and consists of plain sentences."""
    if _CHANGE.fullmatch(name) is None:
        yield f"{name}: not <what>.<{'|'.join(CHANGE_KINDS)}>.md"
    if not text.strip() or text.startswith(("#", "-", "*")):
        yield f"{name}: plain sentences, without heading or bullet"


def lock_problems(name: str, text: str) -> Iterator[str]:
    """Every requirement is an exact version with hashes, without an index or URL."""
    for block in re.split(r"\n(?=[^\s#])", text.strip()):
        first = block.partition("\n")[0]
        if first.startswith("-") or "://" in block:
            yield f"{name}: names an index or a URL: {first}"
        elif not _PINNED.match(first):
            yield f"{name}: no exact version: {first}"
        elif "--hash=sha256:" not in block:
            yield f"{name}: no hash: {first}"


def pins(lock: str) -> dict[str, str]:
    """Normalized name and version of each requirement."""
    return {normal(name): version for name, version in _PINNED.findall(lock)}


def normal(name: str) -> str:
    """The name of a distribution as package indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def dependencies(pyproject: str) -> tuple[list[str], list[str]]:
    """The names of the direct dependencies of the product and of its tests."""
    project: Mapping[str, Any] = tomllib.loads(pyproject)["project"]
    extras = [name for extra in project["optional-dependencies"].values() for name in extra]
    return _names(project["dependencies"]), _names(extras)


def requirements(text: str) -> list[str]:
    """The names of the dependencies in a file of requirements."""
    return _names(line for line in text.splitlines() if not line.startswith("#"))


def _names(lines: Iterable[str]) -> list[str]:
    return [normal(match[0]) for text in lines if (match := _REQUIREMENT.match(text))]


def undocumented_dependencies(names: Iterable[str], document: str) -> list[str]:
    """Dependencies without a row of the table that starts with their name."""
    rows = {normal(name) for name in re.findall(r"^\| `([^`]+)`", document, re.MULTILINE)}
    return sorted({*names} ^ rows)


def undocumented_targets(makefile: str, help_text: str) -> list[str]:
    """Targets that `make help` does not list."""
    listed = set(re.findall(r"^  ([a-z][a-z0-9-]*) +\S", help_text, re.MULTILINE))
    return sorted({*_TARGET.findall(makefile)} - listed)


def lost_references(text: str, exists: Callable[[str], bool]) -> list[str]:
    """Files and modules that a document names in backquotes and that do not exist.

    A word is a file if it contains a slash and its first part exists at the top; a module may be
    followed by one name that it defines.
    """
    words = _QUOTED.findall(text)
    return [word for word in words if _is_lost_module(word, exists) or _is_lost_file(word, exists)]


def _is_lost_module(word: str, exists: Callable[[str], bool]) -> bool:
    if _MODULE.fullmatch(word) is None:
        return False
    path = word.replace(".", "/")
    parent = path.rpartition("/")[0]
    homes = [path, f"{path}.py", f"{parent}.py", *([parent] if "/" in parent else [])]
    return not any(map(exists, homes))


def _is_lost_file(word: str, exists: Callable[[str], bool]) -> bool:
    if "/" not in word or _PATH.fullmatch(word) is None or not exists(word.partition("/")[0]):
        return False
    return not exists(word.rstrip("/"))


def unloadable_resources(kustomization: str, is_folder: Callable[[str], bool]) -> list[str]:
    """Resources that `kubectl apply -k` refuses to load: files outside of the folder."""
    named: list[str] = (yaml.safe_load(kustomization) or {}).get("resources") or []
    return [path for path in named if path.startswith("..") and not is_folder(path)]


def document_names(text: str) -> set[str]:
    """The documents that a text refers to."""
    return set(_DOCUMENT.findall(text))


def manifests(document: str) -> Iterator[dict[str, Any]]:
    """The Kubernetes objects in the fenced YAML of a document."""
    return (mapping for mapping in _mappings(document) if "kind" in mapping)


def parts(document: str) -> Iterator[dict[str, Any]]:
    """The parts of a cluster in the fenced YAML of a document: a spec and nothing else."""
    return (mapping for mapping in _mappings(document) if mapping.keys() == {"spec"})


def _mappings(document: str) -> Iterator[dict[str, Any]]:
    for block in _FENCED.findall(document):
        for mapping in yaml.safe_load_all(block):
            if isinstance(mapping, dict):
                yield mapping


def lost_links(path: str, pages: Mapping[str, str]) -> Iterator[str]:
    """Links of a page to a missing page or heading; paths are those of the repository.

    A link out of docs is broken, too: the site contains nothing else.
    """
    folder = posixpath.dirname(path)
    for target in _LINK.findall(_CODE.sub("", pages[path])):
        name, _, anchor = target.partition("#")
        page = posixpath.normpath(posixpath.join(folder, name)) if name else path
        if "://" in target:
            continue
        if page not in pages or (path.startswith("docs/") and not page.startswith("docs/")):
            yield f"{target}: no such page"
        elif anchor and anchor not in anchors(pages[page]):
            yield f"{target}: no such heading"


def anchors(page: str) -> set[str]:
    """The anchors of the headings for which the site and code hosts generate the same anchor."""
    slugs = set()
    for title in _HEADING.findall(_FENCE.sub("", page)):
        words = re.sub(r"[^\w\s-]", "", _LINK.sub("", title)).strip().lower()
        if re.search(r"[\s-]{2}", words) is None:
            slugs.add(re.sub(r"\s", "-", words))
    return slugs


def unlinked_pages(text: str) -> list[str]:
    """Pages that a page names in backquotes instead of in a link."""
    return re.findall(r"`(docs/[a-z0-9/-]+\.md)`", _FENCE.sub("", text))


def navigation_problems(config: str, pages: Iterable[str]) -> list[str]:
    """Pages, by their path below docs, that the navigation of mkdocs.yml lacks or repeats.

    Also entries without a page. Decisions are omitted: docs/decisions.md lists them.
    """
    listed = Counter(_entries(yaml.safe_load(config)["nav"]))
    counter = Counter(page for page in pages if not page.startswith("adr/"))
    return sorted((listed - counter) + (counter - listed))


def _entries(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from _entries(part)
