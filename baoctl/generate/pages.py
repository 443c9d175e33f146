"""Renders docs/cli.md and docs/decisions.md.

Uses click. Called by baoctl.generate.main. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date

import click

from baoctl.exit_codes import MEANINGS

_WIDTH = 88
_ROWS = "".join(f"| {code.value} | {meaning} |\n" for code, meaning in MEANINGS.items())
_EXITS = f"""## Exit statuses

All commands use the same statuses. A command exits with 130 after Ctrl-C, also at a prompt, and
with 141 if the reader of its output has closed the pipe. `login` exits with the status of the shell
or command that it starts.

As in kubectl, an empty list is not an error: the output is empty, and standard error shows the
reason, such as a namespace that does not exist.

| status | meaning |
|---|---|
{_ROWS}"""
_HEADER = "<!-- Written by `python -m baoctl.generate pages`. Do not edit. -->\n"
_RIGHTS = """## Rights

The commands use the rights of your user. The ClusterRoles `view`, `edit` and `admin` of Kubernetes
contain the rights for clusters, backups and restores after the installation of `deploy/people`
([Permissions](admission.md#permissions)).

| commands | ClusterRole in the namespace of the cluster |
|---|---|
| `explain`, `migrate`, `render`, `completion` | none, no API server is needed |
| `status`, `events`, `upgrade plan` | `view` |
| `doctor`, `tree`, `bundle` | `view`; Secrets need `edit`, Roles need `admin` |
| `plan`, `backup`, `pause`, `rotate` and all others that change a cluster | `edit` |
| `restore` | `edit`, and the verb `restore` |
| `login`, `bench` | `edit`, or [these rights](day-2.md#logging-in) |
| `datacenter status`, `datacenter get` | `openbao-operator-datacenter-view`, in the whole cluster |
| `datacenter redeploy` | `openbao-operator-datacenter-admin`, in the whole cluster |

`doctor` and `bundle` also read the Deployment and the Leases of the operator in its namespace, and
the admission policies; `version` reads the Deployment.

`openbao-operator-view` alone grants no right for pods, volumes and events. `status`, `doctor`,
`tree`, `bundle` and `version` then show the other objects, and name the missing rights. They mark
the missing rights that the ClusterRole `view` contains. The other commands name the missing right,
and exit with 6. `status` also exits with 0 or 3 if it can read only the cluster.
"""
_CLI = f"""{_HEADER}
# Command line

`baoctl` runs the operator and its Jobs, and has commands for users. It is also installed as
`kubectl-bao`, which kubectl calls as `kubectl bao`. It reads `KUBECONFIG` and other
[environment variables](settings.md#verbs-of-kubectl-bao).

The pods of the operator use `run`, `provision` and `job`, which the help does not list. Set
`NO_COLOR` to disable colors; they are also disabled if the output is not a terminal. An error is
one line on standard error that names the next step.

`baoctl` supports all login methods of a kubeconfig, and `interactiveMode` (default: `IfAvailable`)
and `provideClusterInfo` of login plugins. The `proxy-url` of a cluster may name an HTTP proxy
(`http://HOST:PORT`); https and socks5 proxies are refused. `tls-server-name` is used. Proxies of
the environment are not used.

{_EXITS}
{_RIGHTS}"""
_DECISIONS = f"""{_HEADER}
# Decisions

The text of a decision does not change. If a decision no longer applies, a note at its top names the
replacement.
"""


def command_page(program: click.Command) -> str:
    """Return Markdown with the `--help` output of every command that is not hidden."""
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
        for verb in command.list_commands(context):
            child = command.get_command(context, verb)
            if child is not None and not child.hidden:
                yield from _helps(child, verb, context)


def decision_page(records: Iterable[tuple[str, str]]) -> str:
    """Return Markdown with a link for each (file name, text) of docs/adr, newest day first."""
    days: dict[str, list[str]] = {}
    for name, text in records:
        title = text.partition("\n")[0].removeprefix("# ")
        days.setdefault(name[:8], []).append(f"- [{title}](adr/{name})\n")
    chapters = (
        f"\n## {date.fromisoformat(day)}\n\n{''.join(sorted(days[day]))}"
        for day in sorted(days, reverse=True)
    )
    return _DECISIONS + "".join(chapters)
