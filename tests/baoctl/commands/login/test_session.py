"""`baoctl login` before its first request: the required programs, and its options."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from baoctl.cli import main


def call(path: Path, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["login", "first", *arguments], env={"PATH": str(path)})
    assert result.stderr.count("\n") == 1
    return result.exit_code, result.stderr


def test_a_missing_kubectl_is_an_error(tmp_path: Path) -> None:
    code, text = call(tmp_path)
    assert (code, "kubectl is not on PATH" in text) == (1, True)


def test_a_missing_command_is_reported_before_the_login(tmp_path: Path) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text("#!/bin/sh\nexit 1\n")
    kubectl.chmod(0o755)
    code, text = call(tmp_path, "--", "nonsense", "--flag")
    assert (code, "no command 'nonsense'" in text) == (2, True)


@pytest.mark.parametrize(
    ("option", "value"),
    [("--auth-path", "../sys"), ("--auth-path", "/jwt"), ("--auth-path", "a?b"),
     ("--role", "a b"), ("--audience", ""), ("--service-account", "A_b"), ("-n", "x/y")],
)  # fmt: skip
def test_an_invalid_option_is_refused(tmp_path: Path, option: str, value: str) -> None:
    code, text = call(tmp_path, option, value)
    assert code == 2
    assert f"'{option}'" in text or option in text
