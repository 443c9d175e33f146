"""baoctl.generate.fields."""

from typing import Any

from baoctl.generate.fields import field_page, field_page_path
from contracts.api.schema.crd import crd, open_api_schema

SMALL: dict[str, Any] = {
    "spec": {
        "group": "example.org",
        "names": {"kind": "Shop", "singular": "shop"},
        "versions": [
            {
                "name": "v1",
                "schema": {
                    "openAPIV3Schema": {
                        "properties": {
                            "spec": {
                                "required": ["size"],
                                "properties": {
                                    "size": {"type": "integer", "description": "How <large>, *|*."},
                                    "mode": {
                                        "enum": ["A", "B"],
                                        "description": "One\nline.\n\nMore.",
                                    },
                                    "doors": {
                                        "type": "array",
                                        "items": {"properties": {"key": {"type": "string"}}},
                                    },
                                    "tags": {
                                        "type": "object",
                                        "additionalProperties": {"type": "string"},
                                    },
                                },
                            }
                        }
                    }
                },
            }
        ],
    }
}


def test_a_page_has_a_table_for_spec_and_one_for_each_object_in_it() -> None:
    assert field_page_path(SMALL).name == "fields-shop.md"
    assert field_page(SMALL).partition("## spec\n")[2] == (
        "\n| field | type | description |\n|---|---|---|\n"
        "| `spec.size` * | integer | How &lt;large>, \\*\\|\\*. |\n"
        "| `spec.mode` | `A`, `B` | One line. |\n"
        "| `spec.doors` | list of any |  |\n"
        "| `spec.tags` | map of string |  |\n"
        "\n### spec.doors\n\n| field | type | description |\n|---|---|---|\n"
        "| `spec.doors[].key` | string |  |\n"
    )


def test_every_field_of_a_cluster_is_a_row() -> None:
    def count(schema: Any) -> int:
        inner = schema.get("items") or schema.get("additionalProperties") or schema
        fields = inner.get("properties", {}) if isinstance(inner, dict) else {}
        return sum(1 + count(field) for field in fields.values())

    parts = open_api_schema()["properties"]
    expected = sum(count(parts[name]) for name in ("spec", "status"))
    assert field_page(crd()).count("\n| `") == expected
