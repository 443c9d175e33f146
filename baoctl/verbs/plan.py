"""`baoctl plan`: shows what applying a manifest would change.

Imports only click; the verb imports its module when it is called. Called by baoctl.cli.
"""

from __future__ import annotations

from typing import BinaryIO

import click

from baoctl.options import MANIFEST, Access, content_of, output_option
from baoctl.verbs.access_options import cluster_options


@click.command("plan")
@MANIFEST
@click.option(
    "--against",
    type=click.File("rb"),
    help="Dump of the stored clusters (kubectl get openbaocluster -o yaml).  [default: ask the API "
    "server]",
)
@click.option(
    "--field-manager",
    default="kubectl",
    show_default=True,
    help="Field manager that applies the manifest, for server-side apply.",
)
@output_option("text", "json", "yaml")
@cluster_options
def plan_command(
    filename: BinaryIO,
    against: BinaryIO | None,
    field_manager: str,
    output: str,
    *,
    access: Access,
) -> None:
    """Show what applying a manifest would change, object by object. Changes nothing.

    Also shows which servers would restart. The API server validates the manifest in a dry run.
    Exits with 3 if the operator would wait before it changes the pods, and with 4 if the manifest
    is refused.
    """
    from baoctl.commands.cluster.plan import plan

    dump = content_of(against) if against else None
    raise SystemExit(plan(content_of(filename), dump, access, manager=field_manager, output=output))
