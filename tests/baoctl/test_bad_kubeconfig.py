"""What `baoctl` prints of a kubeconfig that has no usable context."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from baoctl.cli import main

CLUSTER = {"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}
CONTEXTS = [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in ("a", "b")]
CONFIG: dict[str, Any] = {
    "clusters": [CLUSTER],
    "users": [{"name": "u", "user": {"token": "t"}}],
    "contexts": CONTEXTS,
}


def call(path: Path, *arguments: str, **env: str) -> Result:
    environ = {"KUBECONFIG": str(path), "KUBERNETES_SERVICE_HOST": None, **env}
    return CliRunner().invoke(main, ["status", *arguments], env=environ)


# sentence: (text of the kubeconfig, arguments, part of the error)
KUBECONFIGS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "an empty file": ("", (), "with contexts; add one with kubectl config set-context"),
    "an empty mapping": ("{}", (), "with contexts; add"),
    "no YAML": ("]", (), "but found"),
    "no mapping": ("[1]", (), "with contexts; add"),
    "no current context": (
        json.dumps(CONFIG), (),
        "with a current-context; set it with kubectl config use-context, or choose one with "
        "--context: a, b",
    ),
    "an empty current context": (
        json.dumps({**CONFIG, "current-context": ""}), (), "with a current-context; set it",
    ),
    "a current context that does not exist": (
        json.dumps({**CONFIG, "current-context": "z"}), (), "whose current context can be used",
    ),
    "another context": (
        json.dumps(CONFIG), ("--context", "z"),
        "with the context 'z'; choose one with --context: a, b",
    ),
    "a context without its cluster": (
        json.dumps({**CONFIG, "clusters": []}), ("--context", "a"),
        "must be a kubeconfig whose context 'a' can be used: ",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "arguments", "words"), KUBECONFIGS.values(), ids=KUBECONFIGS.keys()
)
def test_a_kubeconfig_without_a_usable_context_is_refused(
    text: str, arguments: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    result = call(path, *arguments)
    assert isinstance(result.exception, SystemExit), result.exception
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (6, "", 1)
    assert words in result.stderr


def test_the_option_context_replaces_a_missing_current_context(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(json.dumps(CONFIG))
    result = call(path, "--context", "b")
    assert (result.exit_code, "with a" in result.stderr) == (6, False)


def test_the_option_context_is_refused_in_a_pod(tmp_path: Path) -> None:
    """The ServiceAccount of the pod would be used instead."""
    result = call(tmp_path, "--context", "b", KUBERNETES_SERVICE_HOST="10.96.0.1")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "choose the file with --kubeconfig" in result.stderr
