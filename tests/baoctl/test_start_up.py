"""The start of a verb: the arguments for e2e.start_up, and its expensive imports."""

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
from e2e.start_up.__main__ import arguments, unreachable_kubeconfig, verbs

VERBS: Final = {words: verb for words, verb in verbs(main) if not verb.hidden}
TERMINAL_ONLY: Final = ("pygments", "rich")
CLIENT: Final = ("aiohttp", "asyncio", "kubernetes_asyncio.config", "yaml")
"""The client of the API server and its credentials."""
MODELS: Final = ("annotated_types", "pydantic")
RULES: Final = (*MODELS, "contracts.api.cluster.spec", "contracts.api.rules.cluster", "semver")
"""The model of a cluster and its rules."""
PLAN: Final = (*RULES, "contracts.records.desired", "jinja2")
"""The functions of the controller that plan the objects of a cluster."""
UNUSED: Final = (
    "contracts.api.schema.crd", "contracts.api.values.openpgp", "contracts.rbac", "croniter",
    "cryptography", "frozenlist._frozenlist", "kubernetes_asyncio.client.configuration",
    "kubernetes_asyncio.client.models", "managers.bao.models", "managers.upgrade.decide",
    "managers.upgrade.version_matrix", "obstore", "prometheus_client", "pygments", "requests",
    "sigstore", "structlog", "urllib3",
)  # fmt: skip
"""What no verb uses: logs, metrics, stores and the rights of a process, the schema of a cluster,
other HTTP clients, libstdc++, the models of the Kubernetes API and of OpenBao, the decisions about
upgrades, and, for a spec without schedules and keys, croniter, cryptography and OpenPGP."""
IMPORTS: Final[tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]] = (
    ((), ("completion", "explain reasons", "explain conditions", "explain steps")),
    (
        CLIENT,
        (
            *("hibernate", "pause", "restart", "resume", "wake", "fence", "unfence", "promote"),
            *("rotate ca", "rotate unseal-key"),
            *("upgrade retry", "upgrade promote", "upgrade rollback", "upgrade cleanup"),
            *("datacenter status", "datacenter get", "datacenter redeploy", "login"),
        ),
    ),
    ((*CLIENT, "semver"), ("upgrade plan", "upgrade start")),
    (
        (*CLIENT, "rich"),
        ("status", "doctor", "events", "tree", "version", "bundle", "backup", "bench"),
    ),
    ((*CLIENT, "rich", "semver"), ("restore",)),
    ((*RULES, "yaml"), ("migrate",)),
    ((*PLAN, "yaml"), ("render",)),
    ((*CLIENT, *PLAN, "rich"), ("plan",)),
)
"""The expensive modules that verbs import up to their first request, and these verbs."""
EXPENSIVE: Final = frozenset(UNUSED).union(*(modules for modules, _ in IMPORTS))
PROGRAM: Final = """
import contextlib, io, sys
from baoctl.cli import main
for argv in {calls!r}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            main(argv)
        except SystemExit:
            pass
    print(*sorted({watched!r} & sys.modules.keys()))
"""

PROCESS: Final = f"""
import sys
from baoctl.cli import main
try:
    main(sys.argv[1:])
finally:
    names = ("structlog", "aiohttp", "frozenlist._frozenlist", *{TERMINAL_ONLY!r})
    print([name for name in names if name in sys.modules])
"""
"""Prints which of these modules were imported, whatever the result."""


@pytest.mark.parametrize(("words", "verb"), VERBS.items(), ids=VERBS.keys())
def test_every_verb_accepts_the_arguments_of_the_measurement(
    words: str, verb: click.Command
) -> None:
    with verb.make_context(words, arguments(words, verb)) as context:
        assert context.command is verb


def imports_of(words: Sequence[str]) -> list[list[str]]:
    """Call verbs one after the other in a separate process; return the modules after each."""
    calls = [[*name.split(), *arguments(name, VERBS[name])] for name in words]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(watched=set(EXPENSIVE), calls=calls)],
        cwd=REPOSITORY,
        env=dict(os.environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == len(calls), done.stderr
    return lines


@pytest.mark.parametrize(
    ("modules", "words"), IMPORTS, ids=["+".join(words[:2]) for _, words in IMPORTS]
)
def test_a_verb_imports_only_what_it_uses(
    modules: tuple[str, ...],
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first verb of a group imports all of its modules, and no other verb imports more."""
    monkeypatch.setenv("KUBECONFIG", str(unreachable_kubeconfig(tmp_path)))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    differences = {
        name: sorted(set(modules).symmetric_difference(found))
        for name, found in zip(words, imports_of(words), strict=True)
    }
    assert {name: names for name, names in differences.items() if names} == {}


def test_every_verb_has_one_entry_in_the_table() -> None:
    assert sorted(name for _, words in IMPORTS for name in words) == sorted(VERBS)


@pytest.mark.parametrize("words", ["run", "provision"])
def test_a_process_of_a_pod_imports_neither_a_terminal_library_nor_libstdcxx(
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
    assert done.stdout.splitlines()[-1:] == ["['structlog', 'aiohttp']"], done.stderr
