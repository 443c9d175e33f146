"""The pins that a plugin needs, as `bao operator validate-config` of 2.7.2 reports them."""

import pytest

from contracts.api.rules.cluster import violations
from tests.contracts.api.clusters import cluster

DIGEST = "0" * 64
AWS = {"type": "secret", "name": "aws"}

# sentence: (the plugin, the pins that 2.7.2 misses)
ROWS: dict[str, tuple[dict[str, str], set[str]]] = {
    "an image": ({"image": "r.example.com:5000/aws"}, {"version", "sha256sum"}),
    "with a tag": ({"image": "r.example.com/aws:v1"}, {"sha256sum"}),
    "with a digest": ({"image": f"r.example.com/aws@sha256:{DIGEST}"}, {"version"}),
    "with both": ({"image": f"r.example.com/aws:v1@sha256:{DIGEST}"}, set()),
    "with a digest, and a version": (
        {"image": f"r.example.com/aws@sha256:{DIGEST}", "version": "v1"},
        set(),
    ),
    "with a tag, and a checksum": ({"image": "r.example.com/aws:v1", "sha256sum": DIGEST}, set()),
    "with a version": ({"image": "r.example.com/aws", "version": "v1"}, {"sha256sum"}),
    "with all pins": ({"image": "r.example.com/aws", "version": "v1", "sha256sum": DIGEST}, set()),
    "a command": ({"command": "aws"}, {"version"}),
    "a command with a version": ({"command": "aws", "version": "v1"}, set()),
}


@pytest.mark.parametrize(("plugin", "missing"), ROWS.values(), ids=ROWS)
def test_row(plugin: dict[str, str], missing: set[str]) -> None:
    judged = violations(cluster(version="2.7.2", plugins=[{**AWS, **plugin}]))
    assert {violation.field for violation in judged} == {
        f"spec.plugins[0].{pin}" for pin in missing
    }
