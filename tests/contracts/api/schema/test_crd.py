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
from tests.contracts.api.schema import crd_checks


def _nodes(root: Schema) -> dict[str, Schema]:
    schemas: dict[str, Schema] = {}
    walk(root, lambda path, node: schemas.update({path: node}))
    return schemas


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


def _is_described(node: Schema) -> bool:
    text = node.get("description", "")
    return (
        len(text) > 4
        and (text[0].isupper() or text.startswith("metadata."))
        and ("default" not in node or "Default: " in text)
    )


@each_kind
def test_every_field_is_described_with_its_default(
    definition: Schema, nodes: dict[str, Schema], rules: Any
) -> None:
    fields = [
        path for path in nodes if path.startswith(("spec", "status")) and path[-1] not in "]}"
    ]
    assert len(fields) > 20
    assert [path for path in fields if not _is_described(nodes[path])] == []


@each_kind
def test_every_node_is_structural_bounded_and_says_how_it_is_merged(
    definition: Schema, nodes: dict[str, Schema], rules: Any
) -> None:
    crd_checks.every_node_is_structural(nodes)
    crd_checks.every_node_is_bounded(nodes)
    crd_checks.every_list_says_how_it_is_merged(nodes)
    crd_checks.the_columns_show_fields_that_exist(definition, nodes)


@each_kind
def test_every_rule_with_cel_is_in_the_schema_with_its_message(
    definition: Schema, nodes: dict[str, Schema], rules: Any
) -> None:
    crd_checks.every_rule_with_cel_is_in_the_schema(nodes, rules)
    crd_checks.a_message_with_a_value_says_the_same(nodes)


def test_the_defaults_of_the_schema_are_those_of_the_models() -> None:
    obj = cluster_object(
        tls={}, unseal={"static": {}}, network={}, configuration={}, service={}, runtime={}
    )
    plain = OpenBaoCluster.from_object(obj)
    stored = OpenBaoCluster.from_object(crd_checks.apply_defaults(obj, open_api_schema()))
    assert stored == plain


def test_columns_show_the_status_and_not_the_spec() -> None:
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


def test_descriptions_and_examples_are_not_redundant() -> None:
    """An example that repeats the type, the enum or the description only costs space."""
    assert NODES["spec.tls.caOverlap"]["description"].endswith("Default: 24h.")
    assert "Example: 10Gi" in NODES["spec.storage.size"]["description"]
    for path, node in NODES.items():
        text = node.get("description", "")
        if "Example: " in text:
            assert node.get("type") != "boolean", path
            assert "enum" not in node, path
        if path.endswith("[]") and "description" in NODES[path.removesuffix("[]")]:
            assert "description" not in node, path
        assert "contracts." not in text, path
