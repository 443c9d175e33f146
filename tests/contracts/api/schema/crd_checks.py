"""Checks of the schema of every CRD; each raises AssertionError."""

from typing import Any

from contracts.api.rules.rule import RuleOf
from contracts.api.schema.crd import Schema


def every_node_is_structural(nodes: dict[str, Schema]) -> None:
    assert [path for path, node in nodes.items() if not _is_structural(node)] == []


def every_node_is_bounded(nodes: dict[str, Schema]) -> None:
    """apiVersion, kind and metadata are the API server's own."""
    own = {"apiVersion", "kind", "metadata"}
    assert [path for path, node in nodes.items() if not _is_bounded(node) and path not in own] == []


def every_list_says_how_it_is_merged(nodes: dict[str, Schema]) -> None:
    lists = [path for path, node in nodes.items() if "items" in node]
    assert [path for path in lists if not _is_merged_by_something(nodes[path])] == []


def every_rule_with_cel_is_in_the_schema(
    nodes: dict[str, Schema], rules: tuple[RuleOf[Any], ...]
) -> None:
    written = [
        (rule["rule"], rule["message"])
        for node in nodes.values()
        for rule in node.get("x-kubernetes-validations", ())
    ]
    assert sorted(written) == sorted((rule.cel, rule.message) for rule in rules if rule.cel)


def the_columns_show_fields_that_exist(definition: Schema, nodes: dict[str, Schema]) -> None:
    (version,) = definition["spec"]["versions"]
    for column in version["additionalPrinterColumns"]:
        path = column["jsonPath"].removeprefix(".")
        assert path in nodes or path.startswith(("metadata.", "status.conditions["))


def a_message_with_a_value_says_the_same(nodes: dict[str, Schema]) -> None:
    for node in nodes.values():
        for rule in node.get("x-kubernetes-validations", ()):
            if "messageExpression" in rule:
                assert rule["messageExpression"].startswith(f'"{rule["message"]} (got "')


def apply_defaults(value: Any, node: Schema) -> Any:
    """Apply the defaults as the API server does when it stores an object."""
    if isinstance(value, dict):
        out = dict(value)
        for name, part in node.get("properties", {}).items():
            if name not in out and "default" in part:
                out[name] = part["default"]
            if name in out:
                out[name] = apply_defaults(out[name], part)
        return out
    return value


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


def _is_merged_by_something(node: Schema) -> bool:
    match node["x-kubernetes-list-type"]:
        case "map":
            return set(node["x-kubernetes-list-map-keys"]) <= set(node["items"]["required"])
        case "set":
            return bool(node["items"]["type"] == "string")
    return True
