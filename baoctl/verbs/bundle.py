"""`baoctl bundle`: writes a support archive.

Imports only click; the verb imports its module when it is called. Called by baoctl.cli.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from baoctl.options import Access
from baoctl.verbs.access_options import cluster_options
from baoctl.verbs.cluster_argument import CLUSTER
from baoctl.verbs.clusters import OPERATOR_NAMESPACE


@click.command("bundle")
@CLUSTER
@click.option(
    "-f",
    "--filename",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Archive to write.  [default: NAMESPACE-CLUSTER.tar.gz]",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--redact", is_flag=True, help="Replace secrets with [redacted] instead of failing.")
@click.option(
    "--log-lines",
    type=click.IntRange(1, 10_000),
    default=1000,
    show_default=True,
    help="Last lines of each log to include, at most 256 KiB.",
)
@OPERATOR_NAMESPACE
@cluster_options
def bundle_command(cluster: str, *, access: Access, **options: Any) -> None:
    """Write a support archive of CLUSTER.

    It contains objects, events, logs, versions and the output of doctor, but only the metadata of
    Secrets. MANIFEST.json lists each file with its SHA-256, and what could not be read. The archive
    is scanned for secrets before it is written: if it contains one, the command exits with 4 and
    names the file and the line.
    """
    from baoctl.commands.bundle.bundle import BundleOptions, bundle

    raise SystemExit(bundle(BundleOptions(cluster, **options), access))
