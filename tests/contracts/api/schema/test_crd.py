"""The CRD: structural, bounded, described, and the same on disk as in the code."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from baoctl.generate.main import CRD_FILE, ROOT, crd_files, crd_text, main
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.backup_object import SNAPSHOT_RULES
from contracts.api.rules.cluster import RULES
from contracts.api.rules.restore import RESTORE_RULES
from contracts.api.rules.rule import RuleOf
from contracts.api.schema import backup, restore
from contracts.api.schema.crd import Schema, crd, open_api_schema, walk
from tests.contracts.api.clusters import cluster_object


def _nodes(root: Schema) -> dict[str, Schema]:
    found: dict[str, Schema] = {}
    walk(root, lambda path, node: found.update({path: node}))
    return found


NODES = _nodes(open_api_schema())
KINDS: dict[str, tuple[Schema, dict[str, Schema], tuple[RuleOf[Any], ...]]] = {
    "clusters": (crd(), NODES, RULES),
    "backups": (backup.crd(), _nodes(backup.open_api_schema()), SNAPSHOT_RULES),
    "restores": (restore.crd(), _nodes(restore.open_api_schema()), RESTORE_RULES),
}
each_kind = pytest.mark.parametrize(
    ("definition", "nodes", "rules"), KINDS.values(), ids=KINDS.keys()
)


def test_the_files_are_up_to_date() -> None:
    for path, text in crd_files().items():
        assert (ROOT / path).read_text(encoding="utf-8") == text


def test_the_text_is_yaml_of_the_crd_and_the_same_each_time() -> None:
    assert yaml.safe_load(crd_text()) == crd()
    assert crd_text() == crd_text()


def test_check_fails_on_a_difference_and_passes_without(tmp_path: Path) -> None:
    def run(*arguments: str) -> int:
        return CliRunner().invoke(main, ["crd", "--root", str(tmp_path), *arguments]).exit_code

    assert run("--check") == 1
    assert run() == 0
    assert run("--check") == 0
    with (tmp_path / CRD_FILE).open("a", encoding="utf-8") as file:
        file.write("# edited\n")
    assert run("--check") == 1


@each_kind
def test_the_text_fits_an_annotation(definition: Schema, nodes: Any, rules: Any) -> None:
    """`kubectl apply` stores the whole object in one, of at most 262144 bytes."""
    assert len(json.dumps(definition, separators=(",", ":"))) < 250_000


def _is_structural(node: Schema) -> bool:
    if {"$ref", "$defs", "title", "examples", "oneOf", "allOf", "const"} & node.keys():
        return False
    if node.get("x-kubernetes-int-or-string"):
        return "type" not in node
    free = node.get("x-kubernetes-preserve-unknown-fields", False)
    return free or (isinstance(node.get("type"), str) and "anyOf" not in node)


def _is_bounded(node: Schema) -> bool:
    match node.get("type"):
        case "string":
            return "enum" in node or "maxLength" in node
        case "array":
            # 255: as many recovery shares as OpenBao can make.
            return bool(node.get("maxItems", 1000) <= 255)
        case "object":
            return "properties" in node or node.get("maxProperties", 1000) <= 64
    return True


def _is_described(node: Schema) -> bool:
    text = node.get("description", "")
    return (
        len(text) > 4
        and (text[0].isupper() or text.startswith("metadata."))
        and ("default" not in node or "Default: " in text)
    )


def _is_merged_by_something(node: Schema) -> bool:
    match node["x-kubernetes-list-type"]:
        case "map":
            return set(node["x-kubernetes-list-map-keys"]) <= set(node["items"]["required"])
        case "set":
            return bool(node["items"]["type"] == "string")
    return True


@each_kind
def test_every_node_is_structural(definition: Schema, nodes: dict[str, Schema], rules: Any) -> None:
    assert [path for path, node in nodes.items() if not _is_structural(node)] == []


@each_kind
def test_every_node_is_bounded(definition: Schema, nodes: dict[str, Schema], rules: Any) -> None:
    """apiVersion, kind and metadata are the API server's own."""
    own = {"apiVersion", "kind", "metadata"}
    assert [path for path, node in nodes.items() if not _is_bounded(node) and path not in own] == []


@each_kind
def test_every_field_of_the_user_is_described_with_its_default(
    definition: Schema, nodes: dict[str, Schema], rules: Any
) -> None:
    fields = [
        path for path in nodes if path.startswith(("spec", "status")) and path[-1] not in "]}"
    ]
    assert len(fields) > 20
    assert [path for path in fields if not _is_described(nodes[path])] == []


@each_kind
def test_every_list_says_how_it_is_merged(
    definition: Schema, nodes: dict[str, Schema], rules: Any
) -> None:
    lists = [path for path, node in nodes.items() if "items" in node]
    assert [path for path in lists if not _is_merged_by_something(nodes[path])] == []


@each_kind
def test_every_rule_with_cel_is_in_the_schema_with_its_message(
    definition: Schema, nodes: dict[str, Schema], rules: tuple[RuleOf[Any], ...]
) -> None:
    written = [
        (rule["rule"], rule["message"])
        for node in nodes.values()
        for rule in node.get("x-kubernetes-validations", ())
    ]
    assert sorted(written) == sorted((rule.cel, rule.message) for rule in rules if rule.cel)


@each_kind
def test_the_columns_show_fields_that_exist(
    definition: Schema, nodes: dict[str, Schema], rules: Any
) -> None:
    (version,) = definition["spec"]["versions"]
    for column in version["additionalPrinterColumns"]:
        path = column["jsonPath"].removeprefix(".")
        assert path in nodes or path.startswith(("metadata.", "status.conditions["))


@each_kind
def test_a_message_with_a_value_says_the_same_as_the_message(
    definition: Schema, nodes: dict[str, Schema], rules: Any
) -> None:
    for node in nodes.values():
        for rule in node.get("x-kubernetes-validations", ()):
            if "messageExpression" in rule:
                assert rule["messageExpression"].startswith(f'"{rule["message"]} (got "')


def _defaulted(value: Any, node: Schema) -> Any:
    """What the API server does to an object that it stores."""
    if isinstance(value, dict):
        out = dict(value)
        for name, part in node.get("properties", {}).items():
            if name not in out and "default" in part:
                out[name] = part["default"]
            if name in out:
                out[name] = _defaulted(out[name], part)
        return out
    return value


def test_the_defaults_of_the_schema_are_those_of_the_models() -> None:
    obj = cluster_object(
        tls={}, unseal={"static": {}}, network={}, configuration={}, service={}, runtime={}
    )
    plain = OpenBaoCluster.from_object(obj)
    stored = OpenBaoCluster.from_object(_defaulted(obj, open_api_schema()))
    assert stored == plain


def test_columns_show_what_is_and_not_what_is_wished() -> None:
    (version,) = crd()["spec"]["versions"]
    columns = {column["name"]: column["jsonPath"] for column in version["additionalPrinterColumns"]}
    shown = ["Ready", "Version", "Leader", "Sealed", "Operation", "Backup-Age", "Age"]
    assert [*columns] == [*shown, "Reason", "Phase"]
    assert not any(path.startswith(".spec") for path in columns.values())
    for path in columns.values():
        if path.startswith(".status") and "[" not in path:
            assert path.removeprefix(".") in NODES


def test_scale_uses_fields_that_exist() -> None:
    (version,) = crd()["spec"]["versions"]
    for path in version["subresources"]["scale"].values():
        assert path.removeprefix(".") in NODES
