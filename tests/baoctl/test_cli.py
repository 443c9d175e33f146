"""baoctl.cli: the verbs, their options, and the imports of --help."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

import baoctl.process.run
import baoctl.settings
from baoctl import __version__
from baoctl.api_server_settings import ApiServerSettings
from baoctl.cli import main
from baoctl.settings import Settings, from_environment
from contracts.conditions.catalog import REASONS, Reason
from contracts.conditions.reasons_backup import RUN_REASONS
from contracts.conditions.reasons_restore import RESTORE_REASONS
from contracts.conditions.reasons_restore import TYPES as RESTORE_TYPES
from contracts.conditions.reasons_restore_test import RESTORE_TEST_REASONS, RestoreTestReason
from contracts.conditions.reasons_tenant import TENANT_REASONS
from contracts.datacenter.reasons import DATACENTER_REASONS
from managers.cluster.plan.steps import FOUNDATION, WORKLOAD
from runtime.leader.shard import Shard


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("run", "-h"), ("explain", "-h")])
def test_help(arguments: tuple[str, ...]) -> None:
    result = call(*arguments)
    assert result.exit_code == 0
    assert "Usage:" in result.output


def test_version() -> None:
    assert call("--version").output.strip().endswith(__version__)


def paths(command: click.Command = main, *above: str) -> Iterator[tuple[str, ...]]:
    """The words of every verb, including groups and hidden verbs."""
    yield above
    if isinstance(command, click.Group):
        for name, verb in command.commands.items():
            yield from paths(verb, *above, name)


def test_no_help_imports_http_tls_or_a_terminal_library() -> None:
    """The budget of every `--help` is 0.3 s, which an expensive import would exceed."""
    code = (
        "import sys\nfrom baoctl.cli import main\n"
        "heavy = {'aiohttp', 'asyncio', 'cryptography', 'kubernetes_asyncio', 'pydantic', 'rich',"
        " 'yaml'}\n"
        f"for words in {list(paths())!r}:\n"
        "    try:\n        main([*words, '--help'])\n    except SystemExit:\n        pass\n"
        "    print('HEAVY', words, sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("HEAVY")]
    assert len(lines) == len(list(paths())) > 10
    assert [line for line in lines if not line.endswith(" []")] == []


def commands(
    command: click.Command = main, name: str = "baoctl"
) -> Iterator[tuple[str, click.Command]]:
    """Every verb that the help lists, with its groups."""
    yield name, command
    if isinstance(command, click.Group):
        for word, verb in command.commands.items():
            if not verb.hidden:
                yield from commands(verb, f"{name} {word}")


def test_every_option_has_a_help_text() -> None:
    silent = [
        (name, option.name)
        for name, command in commands()
        for option in command.params
        if isinstance(option, click.Option) and not option.help
    ]
    assert silent == []


def test_summaries_of_verbs_are_not_truncated() -> None:
    """The summary is the first sentence of the help text, which click cuts off if it is long."""
    groups = [command for _, command in commands() if isinstance(command, click.Group)]
    for group in groups:
        context = click.Context(group, terminal_width=80)
        assert "..." not in group.get_help(context).partition("Commands:")[2], group.name


def test_verbs_for_pods_are_hidden() -> None:
    listed = call("--help").output
    assert [word for word in ("run", "provision", "job") if f"\n  {word} " in listed] == []
    assert "\n  upgrade " in listed


def test_a_misspelled_verb_gets_a_suggestion() -> None:
    result = call("explian")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "explain" in result.stderr
    assert result.stderr.lower().count("did you mean") == 1


def test_an_option_without_a_value_refers_to_the_help() -> None:
    assert call("status", "-n").stderr.endswith("; see main --help\n")


class TestExplain:
    def test_a_reason_is_explained(self) -> None:
        output = call("explain", "reasons", "UnsealKeyMissing").output
        for text in (
            REASONS["UnsealKeyMissing"].meaning,
            REASONS["UnsealKeyMissing"].next_step,
            "Stalled",
        ):
            assert text in output
        assert "SplitBrain" not in output

    def test_without_a_name_all_reasons_are_listed(self) -> None:
        output = call("explain", "reasons").output
        for name in REASONS:
            assert f"{name}\n" in output

    @pytest.mark.parametrize(
        ("kind", "reasons"),
        [
            ("OpenBaoBackup", RUN_REASONS),
            ("restore test of an OpenBaoBackup", RESTORE_TEST_REASONS),
            ("OpenBaoRestore", RESTORE_REASONS),
            ("OpenBaoTenant", TENANT_REASONS),
            ("Datacenter", DATACENTER_REASONS),
        ],
    )
    def test_the_reasons_of_other_kinds_are_explained(
        self, kind: str, reasons: Mapping[str, Reason | RestoreTestReason]
    ) -> None:
        every = call("explain", "reasons").output
        for name, reason in reasons.items():
            text = f"{name} ({kind})\n  {reason.meaning}\n  {reason.next_step}\n"
            assert text in call("explain", "reasons", name).output
            assert text in every

    def test_a_reason_of_several_kinds_is_explained_for_each(self) -> None:
        heads = [
            line
            for line in call("explain", "reasons", "upgradeInProgress").output.splitlines()
            if line.startswith("U")
        ]
        assert heads == ["UpgradeInProgress", "UpgradeInProgress (OpenBaoRestore)"]

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            *((name, "OpenBaoRestore") for name in RESTORE_TYPES),
            ("Completed", "OpenBaoBackup"),
            ("Provisioned", "OpenBaoTenant"),
            ("SourcesReady", "Datacenter"),
        ],
    )
    def test_the_conditions_of_other_kinds_are_explained(self, name: str, kind: str) -> None:
        assert call("explain", name).output.startswith(f"{name} ({kind})\n  True ")
        assert f"\n{name} ({kind}): True " in call("explain", "conditions").output

    def test_a_condition_of_several_kinds_is_explained_for_each(self) -> None:
        output = call("explain", "ready").output
        assert output.startswith("Ready (True is healthy)\n")
        assert "\n\nReady (Datacenter)\n" in output

    def test_a_name_needs_no_verb(self) -> None:
        assert call("explain", "notready").output.startswith("NotReady\n")
        assert call("explain", "Paused").output.startswith("Paused (informational)\n")
        slip = call("explain", "NotRedy")
        assert (slip.exit_code, "did you mean NotReady" in slip.stderr) == (5, True)
        assert call("explain", "step").exit_code == 2

    def test_a_reason_that_is_none_is_an_error(self) -> None:
        result = call("explain", "reasons", "Nonsense")
        assert result.exit_code == 5
        assert "'Nonsense'" in result.output

    def test_names_are_case_insensitive_and_misspellings_get_a_suggestion(self) -> None:
        assert call("explain", "reasons", "unsealKEYmissing").output.startswith("UnsealKeyMissing")
        assert call("explain", "conditions", "tlsready").output.startswith("TLSReady")
        assert "UnsealKeyMissing" in call("explain", "reasons", "UnsealKeyMising").stderr

    def test_the_steps_are_listed_in_order_with_their_descriptions(self) -> None:
        lines = call("explain", "steps").output.splitlines()
        steps = (*FOUNDATION, WORKLOAD)
        assert [line.partition(": ")[0] for line in lines] == [
            f"{number}. {step.name}" for number, step in enumerate(steps, start=1)
        ]
        assert all(line.partition(": ")[2].endswith(".") for line in lines)


# sentence: (arguments, setting, value)
FLAGS: dict[str, tuple[tuple[str, ...], str, Any]] = {
    "the environment without flags": ((), "namespaces", ("from-env",)),
    "a flag takes precedence": (("--watch-namespace", "a"), "namespaces", ("a",)),
    "a kubeconfig": (("--kubeconfig", "/k"), "api_server", ApiServerSettings(None, "/k")),
    "no leader election": (("--no-leader-elect",), "leader_election", False),
    "leader election": ((), "leader_election", True),
    "any free port": (("--port", "0"), "port", 0),
    "the port of the environment": ((), "port", 9090),
    "all clusters": ((), "shard", Shard(0, 1)),
    "one shard of two": (("--shard", "1/2"), "shard", Shard(1, 2)),
    "the level of the flag": (("--log-level", "error"), "log_level", "error"),
}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings with which the operator would have been started."""
    env = {"WATCH_NAMESPACE": "from-env", "METRICS_PORT": "9090"}
    settings: list[Settings] = []
    monkeypatch.setattr(baoctl.settings, "from_environment", partial(from_environment, env))
    monkeypatch.setattr(baoctl.process.run, "run_operator", settings.append)
    return settings


@pytest.mark.parametrize(("arguments", "name", "value"), FLAGS.values(), ids=FLAGS.keys())
def test_flag(started: list[Settings], arguments: tuple[str, ...], name: str, value: Any) -> None:
    assert call("run", *arguments).exit_code == 0
    (settings,) = started
    assert getattr(settings, name) == value


@pytest.mark.parametrize(
    "arguments",
    [
        ("--port", "70000"),
        ("--log-level", "loud"),
        ("--verbose",),
        ("more",),
        ("--shard", "2/2"),
        ("--shard", "0/2", "--no-leader-elect"),
    ],
)
def test_an_invalid_flag_starts_nothing(
    started: list[Settings], arguments: tuple[str, ...]
) -> None:
    assert call("run", *arguments).exit_code == 2
    assert started == []


@pytest.mark.parametrize("verb", ["status", "doctor", "restart", "hibernate", "fence", "restore"])
def test_an_empty_name_is_refused(verb: str) -> None:
    """As in `baoctl status "$UNSET"`: with an empty name, the request would be a list."""
    result = call(verb, "")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "must not be empty" in result.stderr
