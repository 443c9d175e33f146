"""`baoctl migrate`: manifests of the public Go operator as this one takes them.

Uses click at import; what a verb needs is imported when it is called. Called by baoctl.cli.
"""

from __future__ import annotations

from typing import BinaryIO

import click

from baoctl.exit_codes import ExitCode
from baoctl.options import content_of


@click.command("migrate")
@click.option(
    "-f",
    "--filename",
    type=click.File("rb"),
    required=True,
    help="Manifests of the public Go operator; - reads standard input.",
)
def migrate_command(filename: BinaryIO) -> None:
    """Print manifests of the public Go operator as this one takes them.

    What was changed, and what only you can decide, goes to standard error; with the latter the exit
    status is 4.
    """
    from baoctl.commands.migrate import explanation_of, manifest_of, migrated

    documents = migrated(content_of(filename))
    click.echo(manifest_of(documents), nl=False)
    click.echo(explanation_of(documents), nl=False, err=True)
    if any(one.left for one in documents):
        raise click.exceptions.Exit(ExitCode.REFUSED)
