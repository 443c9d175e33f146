"""The verb that writes a support archive.

Uses click at import; what the verb needs is imported when it is called. Called by baoctl.cli.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from baoctl.options import Access, reaches_cluster
from baoctl.verbs.clusters import OPERATOR_NAMESPACE


@click.command("bundle")
@click.argument("cluster")
@click.option(
    "-f",
    "--filename",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Archive to write.  [default: NAMESPACE-CLUSTER.tar.gz]",
)
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@click.option("--redact", is_flag=True, help="Replace secrets by [redacted] instead of refusing.")
@click.option(
    "--log-lines",
    type=click.IntRange(1, 10_000),
    default=1000,
    show_default=True,
    help="Last lines of each log, at most 256 KiB.",
)
@OPERATOR_NAMESPACE
@reaches_cluster
def bundle_command(cluster: str, *, access: Access, **options: Any) -> None:
    """Write a support archive of CLUSTER: objects, events, logs, versions, doctor.

    Of Secrets it has the metadata alone. MANIFEST.json lists each file with its SHA-256, and what
    could not be read. The archive is scanned for secrets before it is written; with one in it the
    exit status is 4, and the message names the file and the line.
    """
    from baoctl.commands.bundle.bundle import BundleOrder, bundle

    raise SystemExit(bundle(BundleOrder(cluster, **options), access))
