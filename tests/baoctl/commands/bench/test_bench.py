"""`baoctl bench` before its first request: the ranges of its options."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from baoctl.cli import main

OPTIONS = {
    "--duration": ["0s", "999ms", "5m1s", "10", "ten"],
    "--workers": ["0", "65", "many"],
    "--size": ["0", "65KiB", "1GiB", "1.5KiB"],
    "--mount": ["../sys", "/secret", "a?b", ""],
    "--only": ["deletes"],
    "--address": ["http://bao:8200", "https://bao:0", "https://bao:65536", "https://a b", "bao:1"],
    "--role": ["a b"],
    "--output": ["wide"],
}


def call(path: Path, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["bench", "first", *arguments], env={"PATH": str(path)})
    assert result.stderr.count("\n") == 1
    return result.exit_code, result.stderr


@pytest.mark.parametrize(
    ("option", "value"), [(name, value) for name, values in OPTIONS.items() for value in values]
)
def test_an_option_out_of_range_is_refused(tmp_path: Path, option: str, value: str) -> None:
    code, text = call(tmp_path, option, value)
    assert (code, option in text) == (2, True)


def test_a_missing_kubectl_is_an_error(tmp_path: Path) -> None:
    code, text = call(tmp_path)
    assert (code, "kubectl is not on PATH" in text) == (1, True)
