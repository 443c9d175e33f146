"""The CRDs of datacenters: structural, bounded, described, cluster-scoped, with every rule."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from contracts.api.rules.rule import RuleOf
from contracts.api.schema.crd import Schema, walk
from contracts.datacenter.objects import Datacenter
from contracts.datacenter.rules.all_rules import DATACENTER_RULES, SET_RULES, WORKLOAD_RULES
from contracts.datacenter.rules.files import SECRET_REFERENCES
from contracts.datacenter.rules.unique import KEYS
from contracts.datacenter.schema import crds
from tests.contracts.api.schema import crd_checks
from tests.contracts.datacenter.services import datacenter_object, service

KINDS: tuple[tuple[str, str, tuple[RuleOf[Any], ...], str], ...] = (
    ("datacenters", "dc", DATACENTER_RULES, "spec.bootstrapServices[]"),
    ("bootstrapservicesets", "bss", SET_RULES, "spec.services[]"),
    ("bootstrapworkloads", "bws", WORKLOAD_RULES, "spec.service"),
)
COLUMNS = {
    "dc": ["Provider", "Region", "State", "Services", "Ready", "Age", "Reason"],
    "bss": ["Priority", "Age"],
    "bws": [
        *("Datacenter", "Service", "Source", "Kind", "State", "Ready", "Attempts", "Age"),
        *("Next-Retry", "Message", "Error"),
    ],
}
WIDE = {"Reason", "Next-Retry", "Message", "Error"}


def _nodes(root: Schema) -> dict[str, Schema]:
    schemas: dict[str, Schema] = {}
    walk(root, lambda path, node: schemas.update({path: node}))
    return schemas


def _root(definition: Schema) -> Schema:
    (version,) = definition["spec"]["versions"]
    root: Schema = version["schema"]["openAPIV3Schema"]
    return root


@dataclass(frozen=True)
class Kind:
    """A CRD, its expected properties, and the path of its services."""

    made: Schema
    short: str
    rules: tuple[RuleOf[Any], ...]
    path: str

    @property
    def nodes(self) -> dict[str, Schema]:
        return _nodes(_root(self.made))


each_kind = pytest.mark.parametrize(
    "kind",
    [
        pytest.param(Kind(crd, short, rules, path), id=plural)
        for crd, (plural, short, rules, path) in zip(crds(), KINDS, strict=True)
    ],
)


@each_kind
def test_the_kinds_are_cluster_scoped(kind: Kind) -> None:
    spec = kind.made["spec"]
    assert spec["scope"] == "Cluster"
    assert spec["group"] == "openbao.org"
    assert spec["names"]["shortNames"] == [kind.short]
    assert spec["names"]["categories"] == ["openbao"]
    (version,) = spec["versions"]
    assert ("subresources" in version) == (kind.short != "bss")
    assert version["name"] == "v1alpha1"


def test_the_crds_are_generated_in_a_stable_order() -> None:
    assert [crd["metadata"]["name"] for crd in crds()] == [
        f"{plural}.openbao.org" for plural, *_ in KINDS
    ]
    assert crds() == crds()


@each_kind
def test_the_text_fits_an_annotation(kind: Kind) -> None:
    """`kubectl apply` stores the whole object in one, of at most 262144 bytes."""
    assert len(json.dumps(kind.made, separators=(",", ":"))) < 250_000


@each_kind
def test_every_node_is_structural_bounded_and_says_how_it_is_merged(kind: Kind) -> None:
    crd_checks.every_node_is_structural(kind.nodes)
    crd_checks.every_node_is_bounded(kind.nodes)
    crd_checks.every_list_says_how_it_is_merged(kind.nodes)


@each_kind
def test_every_field_is_described_with_its_default(kind: Kind) -> None:
    fields = {
        path: node
        for path, node in kind.nodes.items()
        if path.startswith(("spec", "status")) and path[-1] not in "]}"
    }
    assert len(fields) > 20
    for node in fields.values():
        text = node.get("description", "")
        assert text[:1].isupper() or text.startswith(("metadata.", "spec.", "declared, "))
        assert "default" not in node or "Default: " in text


@each_kind
def test_every_rule_with_cel_is_in_the_schema_with_its_message(kind: Kind) -> None:
    nodes = kind.nodes
    crd_checks.every_rule_with_cel_is_in_the_schema(nodes, kind.rules)
    crd_checks.a_message_with_a_value_says_the_same(nodes)
    assert sum(1 for rule in kind.rules if rule.cel) > 30


@each_kind
def test_every_rule_names_a_field_that_exists(kind: Kind) -> None:
    nodes = kind.nodes
    known = {*nodes, "metadata.name"}
    assert {rule.field for rule in kind.rules} <= known
    assert {rule.at for rule in kind.rules} <= known
    assert all(rule.field.startswith(rule.at) for rule in kind.rules)


@each_kind
def test_every_keyed_list_of_a_service_is_checked_in_code_too(kind: Kind) -> None:
    keys_by_list = {
        node.removeprefix(f"{kind.path}."): "".join(schema.get("x-kubernetes-list-map-keys", ()))
        for node, schema in kind.nodes.items()
        if node.startswith(f"{kind.path}.")
        and schema.get("x-kubernetes-list-type") in ("map", "set")
    }
    assert keys_by_list == KEYS


@each_kind
def test_the_columns_show_fields_that_exist(kind: Kind) -> None:
    nodes = kind.nodes
    crd_checks.the_columns_show_fields_that_exist(kind.made, nodes)
    (version,) = kind.made["spec"]["versions"]
    columns = version["additionalPrinterColumns"]
    assert [column["name"] for column in columns] == COLUMNS[kind.short]
    assert {column["name"] for column in columns if column.get("priority")} <= WIDE


def test_every_reference_to_a_secret_has_its_rule() -> None:
    """The references are found by their descriptions."""
    nodes = _nodes(_root(crds()[2]))
    named = {
        path.removeprefix("spec.service.").removesuffix(".name")
        for path, node in nodes.items()
        if path.endswith(".name") and "Secret" in node.get("description", "")
    }
    pulls = {path for path in SECRET_REFERENCES if path.startswith("imagePull")}
    assert named | pulls == set(SECRET_REFERENCES)


def test_no_field_gives_a_service_more_privileges() -> None:
    words = ("host", "privilege", "namespace", "capabilit")
    names = {
        path.rpartition(".")[2].lower()
        for path in _nodes(_root(crds()[2]))
        if path.startswith("spec.service.")
    }
    assert len(names) > 50
    # The only access to the node is a host path, which an administrator has to allow.
    assert [name for name in names if any(word in name for word in words)] == ["hostpath"]


def test_the_defaults_of_the_schema_are_those_of_the_models() -> None:
    obj = datacenter_object(service(), name="fra1")
    stored = crd_checks.apply_defaults(obj, _root(crds()[0]))
    assert stored["spec"]["state"] == "Active"
    assert Datacenter.from_object(stored) == Datacenter.from_object(obj)


def test_a_list_that_is_absent_stays_absent() -> None:
    node = _root(crds()[0])["properties"]["spec"]["properties"]["bootstrapServices"]
    assert "default" not in node
    assert (
        Datacenter.from_object(datacenter_object(bootstrapServices=None)).spec.bootstrap_services
        is None
    )
    assert Datacenter.from_object(datacenter_object()).spec.bootstrap_services == ()
