"""Hostile text in all parts of the configuration, parsed with the parser of the server."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from contracts.hcl.render import ConfigInput, render_config, render_self_init
from e2e.rig import builds
from e2e.rig.paths import Cache, cache_root
from e2e.rig.progress import to_stderr
from e2e.rig.versions import HCL_READER
from tests.contracts.hcl.golden_cases import CASES, GOLDEN
from tests.contracts.hcl.hostile import COUNT, fill, marked_input, marks, texts
from tests.contracts.hcl.nasty import NASTY


@pytest.fixture(scope="session")
def reader() -> Path:
    """The HCL parser of the server, as a program."""
    (binary,) = builds.build(Cache(cache_root()), [HCL_READER], to_stderr())
    return binary


def parse_all(reader: Path, documents: list[str]) -> list[Any]:
    """Return the trees of documents; fails if the parser refuses one."""
    done = subprocess.run(
        [reader],
        input="".join(json.dumps(document) + "\n" for document in documents),
        capture_output=True,
        text=True,
        check=True,
    )
    trees = [json.loads(line) for line in done.stdout.split("\n") if line]
    assert len(trees) == len(documents)
    for tree, document in zip(trees, documents, strict=True):
        assert "error" not in tree, (tree, document)
    return trees


def documents(config: ConfigInput) -> list[str]:
    return [render_config(config), render_self_init(config)]


def sort_bodies(tree: Any) -> Any:
    """Sort the items of each body by key: only the order of sorted keys may change."""
    if isinstance(tree, dict) and set(tree) == {"items"}:
        items = [{**item, "value": sort_bodies(item["value"])} for item in tree["items"]]
        return {"items": sorted(items, key=lambda item: json.dumps(item, sort_keys=True))}
    if isinstance(tree, list):
        return [sort_bodies(item) for item in tree]
    return tree


def test_every_place_for_text_is_read_back_once(reader: Path) -> None:
    config = marked_input()
    trees = parse_all(reader, documents(config))
    places = marks(trees)
    # One per join, and the name of a request is also that of its block.
    assert {mark: places.count(mark) for mark in set(places) if places.count(mark) > 1} == {
        "@server@": 3,
        "@block@": 2,
    }
    assert len(set(places)) >= 40


def test_attack_t02_a_thousand_hostile_texts_stay_where_they_were_put(reader: Path) -> None:
    """The tree that the server reads is the intended one, text for text, and nothing more."""
    corpus = texts()
    assert len(corpus) >= COUNT
    assert set(filter(None, NASTY)) <= set(corpus)
    config = marked_input()
    plain = parse_all(reader, documents(config))
    written = [document for text in corpus for document in documents(fill(config, text))]
    trees = parse_all(reader, written)
    for number, text in enumerate(corpus):
        pair = trees[2 * number : 2 * number + 2]
        assert sort_all_bodies(pair) == sort_all_bodies(fill(plain, text)), text


def sort_all_bodies(trees: list[Any]) -> list[Any]:
    return [sort_bodies(tree) for tree in trees]


@pytest.mark.parametrize("case", CASES)
def test_no_golden_document_has_a_stanza_twice(reader: Path, case: str) -> None:
    """The parser would merge two equal stanzas, or use the last one."""
    texts_of_case = [
        (GOLDEN / case / name).read_text(encoding="utf-8")
        for name in ("config.hcl", "self-init.hcl")
    ]
    for tree in parse_all(reader, texts_of_case):
        keys = [tuple(item["keys"]) for item in tree["items"] if item["keys"][0] != "listener"]
        assert len(keys) == len(set(keys))
