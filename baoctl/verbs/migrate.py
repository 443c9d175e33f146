"""`baoctl migrate`: converts manifests of the public Go operator.

Imports only click; the verb imports its module when it is called. Called by baoctl.cli.
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
    """Convert manifests of the public Go operator for this operator.

    Prints the new manifests to standard output, and the changes and your open decisions to standard
    error. Exits with 4 if there is an open decision.
    """
    from baoctl.commands.migrate import explanation_of, manifest_of, migrate_all

    documents = migrate_all(content_of(filename))
    click.echo(manifest_of(documents), nl=False)
    click.echo(explanation_of(documents), nl=False, err=True)
    if any(document.open_decisions for document in documents):
        raise click.exceptions.Exit(ExitCode.REFUSED)
