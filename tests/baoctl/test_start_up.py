"""How a verb starts: e2e.start_up calls each with arguments that it takes, and none imports a
library that it does not use.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click
import pytest

from baoctl.cli import main
from e2e.rig.paths import REPOSITORY
from e2e.start_up.__main__ import arguments, nowhere, verbs

SHOWN = [(words, verb) for words, verb in verbs(main) if not verb.hidden]
OPERATOR_ONLY: Final = (
    "contracts.rbac",
    "kubernetes_asyncio.client.models",
    "prometheus_client",
    "structlog",
)
"""Logs and metrics of a process, the tables of its rights, and models that nothing uses."""
TERMINAL_ONLY: Final = ("pygments", "rich")
CLIENT_ONLY: Final = ("aiohttp", "asyncio", "kubernetes_asyncio.config")
"""The client of the API server and its credentials."""
OFFLINE: Final = (
    "completion",
    "explain reasons",
    "explain conditions",
    "explain steps",
    "migrate",
    "render",
)
"""Verbs that send no request."""
PROGRAM: Final = """
import contextlib, io, sys
from baoctl.cli import main
refused = {refused!r}
for argv in {calls!r}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            main(argv)
        except SystemExit:
            pass
    print(argv, sorted(set(refused) & set(sys.modules)))
"""

PROCESS: Final = f"""
import sys
from baoctl.cli import main
try:
    main(sys.argv[1:])
finally:
    print([name for name in ("structlog", *{TERMINAL_ONLY!r}) if name in sys.modules])
"""
"""Prints which of these modules were imported, whatever the result."""


@pytest.mark.parametrize(("words", "verb"), SHOWN, ids=[words for words, _ in SHOWN])
def test_every_verb_takes_the_arguments_that_it_is_measured_with(
    words: str, verb: click.Command
) -> None:
    with verb.make_context(words, arguments(words, verb)) as context:
        assert context.command is verb


def imported(chosen: Sequence[tuple[str, click.Command]], refused: Sequence[str]) -> list[str]:
    """Call verbs one after the other in a process of their own; name those with such imports."""
    calls = [[*words.split(), *arguments(words, verb)] for words, verb in chosen]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(refused=refused, calls=calls)],
        cwd=REPOSITORY,
        env=dict(os.environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(calls), done.stderr
    return [line for line in lines if not line.endswith(" []")]


def test_no_verb_imports_what_only_the_operator_uses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(nowhere(tmp_path)))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert imported(SHOWN, OPERATOR_ONLY) == []
    # Otherwise the verbs failed before their first request, and the assertion above is empty.
    status = [shown for shown in SHOWN if shown[0] == "status"]
    [line] = imported(status, CLIENT_ONLY)
    assert line.endswith(str([*CLIENT_ONLY]))


@pytest.mark.parametrize("words", ["run", "provision"])
def test_a_process_of_a_pod_imports_nothing_that_draws_on_a_terminal(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without credentials it ends after its imports."""
    monkeypatch.setenv("KUBECONFIG", os.devnull)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    done = subprocess.run(
        [sys.executable, "-c", PROCESS, words],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.splitlines()[-1:] == ["['structlog']"], done.stderr


def test_a_verb_without_requests_imports_no_client() -> None:
    chosen = [shown for shown in SHOWN if shown[0] in OFFLINE]
    assert len(chosen) == len(OFFLINE)
    assert imported(chosen, (*OPERATOR_ONLY, *CLIENT_ONLY)) == []
