"""The CustomResourceDefinition of OpenBaoCluster, from the pydantic models and the rules.

Uses pydantic's JSON schema and contracts.api.rules.cluster. Called by `python -m baoctl.generate
crd`. The API server requires a structural schema: no references, no null types, no titles.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import CLUSTER_KIND, CLUSTERS
from contracts.api.rules.cluster import RULES
from contracts.api.rules.rule import RuleOf
from runtime.types import Resource

Schema = dict[str, Any]
Column = tuple[str, str, str, str, int]
"""Name, type, path, description and priority of a printer column."""

_COLUMNS: tuple[Column, ...] = (
    ("Ready", "string", ".status.ready", "Ready servers and desired servers.", 0),
    ("Version", "string", ".status.currentVersion", "Running OpenBao version.", 0),
    ("Leader", "string", ".status.activeLeader", "Active pod.", 0),
    ("Sealed", "string", ".status.sealed", "Whether a server is sealed.", 0),
    ("Operation", "string", ".status.operation.summary", "Current operation.", 0),
    ("Backup-Age", "date", ".status.backup.lastBackupTime", "Time since the last backup.", 0),
    ("Age", "date", ".metadata.creationTimestamp", "Time since creation.", 0),
    (
        "Reason",
        "string",
        '.status.conditions[?(@.type=="Ready")].reason',
        "Reason of the condition Ready.",
        1,
    ),
    ("Phase", "string", ".status.phase", "Phase of the cluster.", 1),
)
# Keywords of JSON schema that the API server does not know or does not use.
_DROPPED = frozenset({"$defs", "title", "default", "examples", "additionalProperties"})


def crd() -> Schema:
    """Return a new CustomResourceDefinition of OpenBaoCluster, which the caller may change."""
    document = definition(CLUSTERS, ("bao", "baoc"), _COLUMNS, open_api_schema())
    document["spec"]["names"]["categories"] = ["all", "openbao"]
    document["spec"]["versions"][0]["subresources"]["scale"] = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    return document


def definition(
    resource: Resource, short: tuple[str, ...], columns: tuple[Column, ...], schema: Schema
) -> Schema:
    """Return the CustomResourceDefinition of a namespaced kind with a status subresource."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": str(resource)},
        "spec": {
            "group": resource.group,
            "scope": "Namespaced",
            "names": {
                "kind": resource.kind,
                "listKind": f"{resource.kind}List",
                "plural": resource.plural,
                "singular": resource.kind.lower(),
                "shortNames": list(short),
                "categories": ["openbao"],
            },
            "versions": [
                {
                    "name": resource.version,
                    "served": True,
                    "storage": True,
                    "additionalPrinterColumns": [column(*arguments) for arguments in columns],
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def column(name: str, kind: str, path: str, description: str, priority: int) -> Schema:
    """Return one additional printer column; a priority above 0 shows it with -o wide only."""
    column = {"name": name, "type": kind, "jsonPath": path, "description": description}
    return {**column, "priority": priority} if priority else column


def open_api_schema() -> Schema:
    """Return the structural schema of OpenBaoCluster: descriptions, defaults, bounds, rules."""
    return with_rules(object_schema(OpenBaoCluster, CLUSTER_KIND), RULES)


def with_rules(root: Schema, rules: Iterable[RuleOf[Any]]) -> Schema:
    """Add the rules that have CEL to `root`, in place, each at its node; return `root`."""
    for rule in rules:
        if rule.cel:
            node = _node(root, rule.at)
            node.setdefault("x-kubernetes-validations", []).append(_validation(rule))
    return root


def object_schema(model: type[BaseModel], kind: str) -> Schema:
    """Return the structural schema of a kind, without rules."""
    raw = model.model_json_schema(by_alias=True)
    root = _structural(raw, raw.get("$defs", {}))
    properties = root["properties"]
    properties["apiVersion"] = {"type": "string", "description": "Version of this schema."}
    properties["kind"] = {"type": "string", "description": f"Always {kind}."}
    # The API server has the schema of metadata, and rejects another one.
    properties["metadata"] = {"type": "object"}
    return root


def _structural(raw: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    raw = _without_references(raw, definitions)
    out = {key: value for key, value in raw.items() if key not in _DROPPED}
    if "const" in out:
        out["enum"] = [out.pop("const")]
    if "properties" in raw:
        out["properties"] = {
            name: _structural(part, definitions) for name, part in raw["properties"].items()
        }
    if isinstance(raw.get("additionalProperties"), Mapping):
        out["additionalProperties"] = _structural(raw["additionalProperties"], definitions)
    if "items" in raw:
        out["items"] = _structural(raw["items"], definitions)
        out.setdefault("x-kubernetes-list-type", "atomic")
    _set_default(out, raw)
    _describe(out, raw)
    if "description" in out and "items" in out:
        # The description of a list also describes its items.
        out["items"].pop("description", None)
    return out


def _without_references(raw: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    """Return the schema without references and without the null of an optional field; the keys next
    to a reference override its target."""
    out = dict(raw)
    while "$ref" in out or _is_optional(out):
        if "$ref" in out:
            inner = definitions[out.pop("$ref").rpartition("/")[2]]
        else:
            inner = next(part for part in out.pop("anyOf") if part.get("type") != "null")
        out = {**inner, **out}
    return out


def _is_optional(schema: Mapping[str, Any]) -> bool:
    return any(part.get("type") == "null" for part in schema.get("anyOf", ()))


def _set_default(out: Schema, raw: Mapping[str, Any]) -> None:
    default = raw.get("default")
    if default in (None, [], ""):
        return
    out["default"] = default


def _describe(out: Schema, raw: Mapping[str, Any]) -> None:
    # Only the first paragraph of a docstring: the others are for developers.
    sentences = [raw.get("description", "").partition("\n\n")[0]]
    if "default" in out:
        sentences.append(f"Default: {_spell(out['default'])}.")
    example = _spell(raw["examples"][0]) if raw.get("examples") else ""
    if _is_news(example, out, " ".join(sentences)):
        sentences.append(f"Example: {example}")
    out["description"] = " ".join(filter(None, sentences))
    if not out["description"]:
        del out["description"]


def _is_news(example: str, schema: Schema, text: str) -> bool:
    """Return whether an example shows more than the type, the enum and the text before it."""
    if not example or schema.get("type") == "boolean" or "enum" in schema:
        return False
    return not re.search(rf"(?<![\w.-]){re.escape(example)}(?![\w-])", text)


def _spell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _node(root: Schema, path: str) -> Schema:
    """Return the schema at a path such as spec.selfInit.requests[].name; raises KeyError."""
    node = root
    for step in path.split(".") if path else ():
        name = step.removesuffix("[]")
        node = node["properties"][name]
        if name != step:
            node = node["items"]
    return node


def _validation(rule: RuleOf[Any]) -> Schema:
    validation: Schema = {"rule": rule.cel, "message": rule.message, "reason": rule.reason}
    if rule.got:
        # A JSON string is a CEL string.
        text = json.dumps(f"{rule.message} (got ")
        validation["messageExpression"] = f'{text} + {rule.got} + ")"'
    if rule.field_path():
        validation["fieldPath"] = rule.field_path()
    return validation


def walk(schema: Schema, visit: Callable[[str, Schema], None], path: str = "") -> None:
    """Call `visit` with the path and the schema of every node, parents first."""
    visit(path, schema)
    for name, part in schema.get("properties", {}).items():
        walk(part, visit, f"{path}.{name}".lstrip("."))
    if "items" in schema:
        walk(schema["items"], visit, f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        walk(schema["additionalProperties"], visit, f"{path}{{}}")
