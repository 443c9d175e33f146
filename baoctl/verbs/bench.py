"""`baoctl bench`: measures the servers of a cluster.

Imports only click; the verb imports its module when it is called. Called by baoctl.cli.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any, Final

import click

from baoctl.options import YES, Access, confirm_name, fits, output_option
from baoctl.verbs.access_options import cluster_options
from baoctl.verbs.cluster_argument import CLUSTER
from baoctl.verbs.login import is_path, login_options

SECONDS_MAX: Final = 300.0
SIZE_MAX: Final = 64 << 10
PORT: Final = 8200
_ADDRESS: Final = re.compile(
    r"https://(?P<host>[A-Za-z0-9][A-Za-z0-9.-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])"
    r"(?::(?P<port>[0-9]{1,5}))?/?"
)


@click.command("bench")
@CLUSTER
@click.option(
    "--duration",
    metavar="TIME",
    default="10s",
    show_default=True,
    help="Time to measure each operation, 1s to 5m.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=8,
    show_default=True,
    help="Concurrent clients, each with one request at a time.",
)
@click.option("--size", default="1KiB", show_default=True, help="Size of a value, 1B to 64KiB.")
@click.option(
    "--mount",
    callback=fits(is_path, "must be the path of a secrets engine"),
    metavar="PATH",
    help="Mount path of an existing key-value engine to use.  [default: a new one]",
)
@click.option(
    "--only",
    type=click.Choice(["writes", "reads", "logins"]),
    help="Measure only this operation.  [default: all three]",
)
@click.option(
    "--address",
    metavar="URL",
    help="https://HOST[:PORT] to send requests to.  [default: a port-forward]",
)
@click.option(
    "--force",
    is_flag=True,
    help="Run even if the cluster is not Available or an operation is in progress.",
)
@output_option("text", "json", "yaml")
@YES
@login_options
@cluster_options
def bench_command(
    cluster: str, duration: str, size: str, *, access: Access, **options: Any
) -> None:
    """Measure writes, reads and logins per second of CLUSTER. Puts load on the cluster.

    Logs in like baoctl login, or uses the token in BAO_TOKEN. Mounts a secrets engine for its keys
    and removes it at the end, also after Ctrl-C and SIGTERM. On a terminal it asks you to type the
    name of the cluster.

    Exits with 3 if a request failed, and with 4 if the cluster is not Available or an operation is
    in progress.
    """
    from baoctl.commands.bench.options import OPERATIONS, BenchOptions
    from baoctl.commands.bench.run import bench
    from baoctl.commands.login.reads import LoginOptions

    only, mount, address = options["only"], options["mount"], options["address"]
    login = ("service_account", "role", "auth_path", "audience", "ca_file")
    bench_options = BenchOptions(
        login=LoginOptions(cluster, (), **{name: options[name] for name in login}),
        operations=(only,) if only else OPERATIONS,
        seconds=_seconds(duration),
        workers=options["workers"],
        size=_size(size),
        mount=mount,
        address=_address(address) if address else None,
        force=options["force"],
    )
    raise SystemExit(
        bench(
            bench_options,
            access,
            _confirmation(cluster, asks=not options["yes"]),
            options["output"],
        )
    )


def _confirmation(cluster: str, *, asks: bool) -> Callable[[str], None]:
    def confirm(consequence: str) -> None:
        if asks and sys.stdin.isatty():
            confirm_name(cluster, consequence, err=True)
        else:
            click.echo(consequence, err=True)

    return confirm


def _seconds(duration: str) -> float:
    from baoctl.commands.cluster.pause import seconds_of

    try:
        seconds = seconds_of(duration)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--duration") from None
    if not 1.0 <= seconds <= SECONDS_MAX:
        raise click.BadParameter("must be 1s to 5m", param_hint="--duration")
    return seconds


def _size(size: str) -> int:
    from baoctl.commands.bench.figures import size_of

    try:
        number = size_of(size)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--size") from None
    if not 1 <= number <= SIZE_MAX:
        raise click.BadParameter("must be 1B to 64KiB", param_hint="--size")
    return number


def _address(address: str) -> tuple[str, int]:
    match = _ADDRESS.fullmatch(address)
    port = int(match["port"] or PORT) if match else 0
    if match is None or not 0 < port < 65_536:
        raise click.BadParameter("must be https://HOST[:PORT]", param_hint="--address")
    return match["host"].strip("[]"), port
