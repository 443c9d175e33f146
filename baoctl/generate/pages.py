"""The pages of docs that are generated as a whole: the command line, and the list of decisions.

Uses click. Called by baoctl.generate.main. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date

import click

from baoctl.exit_codes import MEANINGS

_WIDTH = 88
_ROWS = "".join(f"| {code.value} | {meaning} |\n" for code, meaning in MEANINGS.items())
_EXITS = f"## Exit statuses\n\n| status | meaning |\n|---|---|\n{_ROWS}"
_HEADER = "<!-- Written by `python -m baoctl.generate pages`. Do not edit. -->\n"
_CLI = f"""{_HEADER}
# Command line

`baoctl` runs the operator and its Jobs, and has commands for users. It is installed as
`kubectl-bao`, too, which kubectl calls as `kubectl bao`. It reads environment variables:
[settings of the operator](settings.md).

`run`, `provision` and `job` are for pods, and are not listed. `NO_COLOR` switches colours off,
as does an output that is no terminal. An error is one line on standard error that names the next
step.

A kubeconfig is used with all of its ways to log in. Its `proxy-url` may name an HTTP proxy
(`http://HOST:PORT`); https and socks5 proxies are refused. `tls-server-name` is honoured. Proxies
that the environment names are not used.

{_EXITS}"""
_DECISIONS = f"""{_HEADER}
# Decisions

A decision keeps its text. One that no longer holds says so at its top, and names the one that
replaced it.
"""


def command_page(program: click.Command) -> str:
    """Markdown with the help of every command that is not hidden, each as `--help` prints it."""
    parts = (
        f"\n## {name}\n\n```text\n{text}\n```\n" for name, text in _helps(program, "baoctl", None)
    )
    return _CLI + "".join(parts)


def _helps(
    command: click.Command, name: str, parent: click.Context | None
) -> Iterator[tuple[str, str]]:
    context = command.context_class(
        command, parent, info_name=name, terminal_width=_WIDTH, **command.context_settings
    )
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            if found is not None and not found.hidden:
                yield from _helps(found, each, context)


def decision_page(records: Iterable[tuple[str, str]]) -> str:
    """Markdown with a link for each (file name, text) of docs/adr, the newest day first."""
    days: dict[str, list[str]] = {}
    for name, text in records:
        title = text.partition("\n")[0].removeprefix("# ")
        days.setdefault(name[:8], []).append(f"- [{title}](adr/{name})\n")
    chapters = (
        f"\n## {date.fromisoformat(day)}\n\n{''.join(sorted(days[day]))}"
        for day in sorted(days, reverse=True)
    )
    return _DECISIONS + "".join(chapters)
