"""`baoctl login`: logs a user in to a cluster.

Imports only click; the verb imports its module when it is called. Called by baoctl.cli. The options
of a login are also used by baoctl.verbs.bench.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import click

from baoctl import variables
from baoctl.options import Access, F, fits
from baoctl.verbs.access_options import cluster_options, names_of
from baoctl.verbs.cluster_argument import CLUSTER

_PATH: Final = re.compile(
    r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}){0,8}"
)


def is_path(text: str) -> bool:
    """Whether this is a valid mount path."""
    return bool(_PATH.fullmatch(text))


_LOGIN_OPTIONS: Final = (
    click.option(
        "--service-account",
        default="default",
        show_default=True,
        callback=fits(variables.is_object_name, variables.OBJECT_NAME),
        shell_complete=names_of("service accounts"),
        help="ServiceAccount to log in as.",
    ),
    click.option(
        "--role",
        callback=fits(variables.is_word, variables.WORD),
        help="Role of the auth method.  [default: the name of the ServiceAccount]",
    ),
    click.option(
        "--auth-path",
        default="jwt-operator",
        show_default=True,
        callback=fits(is_path, "must be the path of an auth method"),
        help="Mount path of the auth method.",
    ),
    click.option(
        "--audience",
        callback=fits(variables.is_word, variables.WORD),
        help="Audience of the token.  [default: openbao-internal/NAMESPACE/CLUSTER]",
    ),
    click.option(
        "--ca-file",
        type=click.Path(dir_okay=False, path_type=Path),
        help="CA certificate of the servers.  [default: from the Secret of the cluster]",
    ),
)


def login_options(verb: F) -> F:
    """Add the options of a login to a verb."""
    command: Any = verb
    for option in reversed(_LOGIN_OPTIONS):
        command = option(command)
    return command  # type: ignore[no-any-return]


@click.command("login")
@CLUSTER
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@login_options
@cluster_options
def login_command(
    cluster: str, command: tuple[str, ...], *, access: Access, **options: Any
) -> None:
    """Log in to CLUSTER, and start a shell or run COMMAND.

    Write -- before COMMAND. Forwards a port to the active server with kubectl, and logs in with a
    token of a ServiceAccount. The shell gets BAO_ADDR, BAO_TOKEN, BAO_TLS_SERVER_NAME and
    BAO_CACERT. When it ends, the token is revoked, the files are deleted and the port-forward
    stops. Exits with the status of the command.
    """
    from baoctl.commands.login.reads import LoginOptions
    from baoctl.commands.login.session import login

    raise SystemExit(login(LoginOptions(cluster, command, **options), access))
