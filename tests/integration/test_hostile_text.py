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
from tests.contracts.hcl.hostile import COUNT, filled, marked, marks, texts
from tests.contracts.hcl.nasty import NASTY


@pytest.fixture(scope="session")
def reader() -> Path:
    """The HCL parser of the server, as a program."""
    (binary,) = builds.build(Cache(cache_root()), [HCL_READER], to_stderr())
    return binary


def read(reader: Path, documents: list[str]) -> list[Any]:
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


def ordered(tree: Any) -> Any:
    """Sort the items of each body by key: only the order of sorted keys may change."""
    if isinstance(tree, dict) and set(tree) == {"items"}:
        items = [{**item, "value": ordered(item["value"])} for item in tree["items"]]
        return {"items": sorted(items, key=lambda item: json.dumps(item, sort_keys=True))}
    if isinstance(tree, list):
        return [ordered(item) for item in tree]
    return tree


def test_every_place_for_text_is_read_back_once(reader: Path) -> None:
    config = marked()
    trees = read(reader, documents(config))
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
    config = marked()
    plain = read(reader, documents(config))
    written = [document for text in corpus for document in documents(filled(config, text))]
    trees = read(reader, written)
    for number, text in enumerate(corpus):
        pair = trees[2 * number : 2 * number + 2]
        assert ordered_all(pair) == ordered_all(filled(plain, text)), text


def ordered_all(trees: list[Any]) -> list[Any]:
    return [ordered(tree) for tree in trees]


@pytest.mark.parametrize("case", CASES)
def test_no_golden_document_has_a_stanza_twice(reader: Path, case: str) -> None:
    """The parser would merge two equal stanzas, or use the last one."""
    texts_of_case = [
        (GOLDEN / case / name).read_text(encoding="utf-8")
        for name in ("config.hcl", "self-init.hcl")
    ]
    for tree in read(reader, texts_of_case):
        keys = [tuple(item["keys"]) for item in tree["items"] if item["keys"][0] != "listener"]
        assert len(keys) == len(set(keys))
