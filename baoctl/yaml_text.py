"""Reads the YAML input of a verb of `baoctl` within limits, and writes YAML.

Uses pyyaml. Called by baoctl.commands and baoctl.kubeconfig_contexts. An error is one line. Nested
aliases are cheap to parse, but may expand to a billion values when a program traverses them. So the
limit counts values as if each alias were expanded. Timestamps stay strings, as in the API server.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

import yaml

from contracts.conditions.message import clean_message

TEXT_MAX: Final = 16 * 1024 * 1024
"""Maximum size of a text in bytes."""
VALUES_MAX: Final = 1_000_000
DEPTH_MAX: Final = 100
"""Maximum number of levels; the API server stores more, and the operator reads 64."""
_TIMESTAMP_TAG = "tag:yaml.org,2002:timestamp"
_MERGE_TAG = "tag:yaml.org,2002:merge"


class TextError(Exception):
    """A text cannot be read; the message is one line for a terminal."""

    def __init__(self, text: str) -> None:
        super().__init__(clean_message(text))


class _Loader(yaml.SafeLoader):
    """Counts values and levels while it reads."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._values = 0
        self._depth = 0
        self._deepest = 0
        self._sizes: dict[int, tuple[int, int]] = {}
        """Values and levels of the targets of aliases, by identity."""

    def compose_document(self) -> yaml.Node | None:
        # An anchor is valid in one document, and an id of a node only while the node exists.
        self._sizes.clear()
        return super().compose_document()

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            node = super().compose_node(parent, index)
            if id(node) not in self._sizes:
                raise TextError(f"it contains itself{_position(event.start_mark)}")
            values, levels = self._sizes[id(node)]
            self._enter(values, self._depth + levels, event)
            return node
        before, above = self._values, self._deepest
        self._depth += 1
        self._deepest = self._depth
        self._enter(1, self._depth, event)
        node = super().compose_node(parent, index)
        if getattr(event, "anchor", None) is not None:
            self._sizes[id(node)] = self._values - before, self._deepest - self._depth + 1
        self._deepest = max(self._deepest, above)
        self._depth -= 1
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        keys = set[tuple[str, str]]()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE_TAG:
                continue
            if (key.tag, key.value) in keys:
                text = f"it has the key {key.value[:80]!r} twice{_position(key.start_mark)}"
                raise TextError(text)
            keys.add((key.tag, key.value))
        return node

    def _enter(self, values: int, level: int, event: yaml.Event) -> None:
        self._values += values
        self._deepest = max(self._deepest, level)
        if self._values > VALUES_MAX:
            raise TextError(f"it has more than {VALUES_MAX} values{_position(event.start_mark)}")
        if level > DEPTH_MAX:
            raise TextError(f"it is deeper than {DEPTH_MAX} levels{_position(event.start_mark)}")


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP_TAG]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_documents(content: str | bytes) -> list[Any]:
    """Read all documents of a text. Raises TextError."""
    data = content.encode() if isinstance(content, str) else content
    if len(data) > TEXT_MAX:
        raise TextError(f"it is larger than {TEXT_MAX // 1024**2} MiB")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise TextError(f"it is not UTF-8: see byte {error.start}") from None
    try:
        return list(yaml.load_all(text, _Loader))
    except yaml.MarkedYAMLError as error:
        position = _position(error.problem_mark or error.context_mark)
        raise TextError(f"it is not YAML: {error.problem or error.context}{position}") from None
    except yaml.YAMLError as error:
        raise TextError(f"it is not YAML: {' '.join(str(error).split())}") from None
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        # The value does not match its tag: `!!int x`.
        raise TextError(f"a value does not match its tag: {error}") from None


def json_as_yaml(text: str) -> str:
    """Convert a JSON text to a YAML document in ASCII; other characters are escaped."""
    return str(yaml.safe_dump(json.loads(text), sort_keys=False, width=100))


def objects_of(documents: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yield the objects of documents, including the items of lists (`kind: List`)."""
    for document in documents:
        if not isinstance(document, dict):
            continue
        items = document.get("items")
        if isinstance(items, list):
            yield from objects_of(items)
        else:
            yield document


def _position(mark: Any) -> str:
    return f": line {mark.line + 1}, column {mark.column + 1}" if mark else ""
