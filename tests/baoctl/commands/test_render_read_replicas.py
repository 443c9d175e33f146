"""baoctl.commands.render.

All objects of the read replicas, compared with the golden file.
"""

import os
from pathlib import Path
from typing import Any

import yaml

from tests import gen
from tests.baoctl.commands.render_calls import GOLDEN, manifest, objects, render_output

FILE: Path = GOLDEN / "read-replicas.yaml"
WISHES = {
    "replicas": 2,
    "service": {"enabled": True, "annotations": {"service.kubernetes.io/topology-mode": "Auto"}},
    "storage": {"size": "2Gi"},
    "template": {"resources": {"requests": {"cpu": "250m"}}},
}


def readers(*arguments: str, **wishes: Any) -> list[dict[str, Any]]:
    done = render_output(*arguments, "-f", "-", text=manifest(readReplicas={**WISHES, **wishes}))
    assert done.exit_code == 0, done.output
    return [obj for obj in objects(done.output) if obj["metadata"]["name"].endswith("-read")]


def test_the_read_replicas_match_the_golden_file() -> None:
    """UPDATE_GOLDEN=1 rewrites it; read the difference before you commit it."""
    text = yaml.safe_dump_all(readers(), sort_keys=False)
    if os.environ.get("UPDATE_GOLDEN"):
        FILE.write_text(text, encoding="utf-8")
    assert text == FILE.read_text(encoding="utf-8")


def test_no_read_replicas_are_rendered_before_the_first_boot() -> None:
    objects = readers("--phase", "first-boot")
    assert [reader["kind"] for reader in objects] == ["Service"]


def test_no_read_replicas_are_rendered_unless_requested() -> None:
    assert readers(replicas=0) == []
    assert gen.resolved(gen.cluster(readReplicas={"replicas": 0})).read is None
