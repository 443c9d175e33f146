"""The fields of every kind of this operator, from a file that is generated from the models.

Standard library only. `python -m baoctl.generate crd` writes the file. Called by
baoctl.process.wiring, to compare with the CRDs on the API server: a process that built its CRDs for
that at each start would use 2 MB of memory and a tenth of a second of CPU time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from contracts.api.group import BACKUP_KIND, CLUSTER_KIND, RESTORE_KIND, TENANT_KIND
from contracts.api.schema.served import OPEN, PARTS, Schema

FILE: Final = Path(__file__).with_name("expected.json")
CLUSTER_KINDS: Final = (CLUSTER_KIND, TENANT_KIND, BACKUP_KIND, RESTORE_KIND)
"""The kinds of an operator without datacenters."""
_KEYWORDS: Final = ("type", "enum", OPEN)
_NESTED: Final = ("items", "additionalProperties")


def expected_schemas(*, datacenters: bool = True) -> dict[str, Schema]:
    """Return the schemas by kind, with what a comparison needs; see `expected_text`."""
    schemas: dict[str, Schema] = json.loads(FILE.read_bytes())
    return schemas if datacenters else {kind: schemas[kind] for kind in CLUSTER_KINDS}


def expected_text(definitions: Iterable[Mapping[str, Any]]) -> str:
    """Return the content of the file: of each kind, the fields with their types and enums."""
    lines = (
        f"{json.dumps(definition['spec']['names']['kind'])}: "
        f"{json.dumps(_of_kind(definition), separators=(',', ':'), sort_keys=True)}"
        for definition in definitions
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _of_kind(definition: Mapping[str, Any]) -> Schema:
    fields = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    return {"properties": {part: _compared(fields[part]) for part in PARTS if part in fields}}


def _compared(schema: Schema) -> Schema:
    """Return the keywords that contracts.api.schema.served compares."""
    nested = {key: schema[key] for key in _NESTED if isinstance(schema.get(key), Mapping)}
    fields = {name: _compared(field) for name, field in schema.get("properties", {}).items()}
    return {
        **{key: schema[key] for key in _KEYWORDS if key in schema},
        **{key: _compared(part) for key, part in nested.items()},
        **({"properties": fields} if fields else {}),
    }
