"""Runs baoctl render and reads what it prints."""

from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from baoctl.cli import main
from tests import gen

GOLDEN = Path(__file__).parent / "golden"


def render_output(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(main, ["render", *arguments], input=text)


def manifest(**spec: Any) -> str:
    return yaml.safe_dump(gen.cluster(**spec).object())


def objects(text: str) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(text) if document]
