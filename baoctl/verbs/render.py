"""`baoctl render`: prints the objects of a manifest, without a cluster.

Imports only click; the verb imports its module when it is called. Called by baoctl.cli.
"""

from __future__ import annotations

import dataclasses
from typing import BinaryIO, Literal

import click

from baoctl import variables
from baoctl.options import MANIFEST, content_of, fits
from contracts.ip_address import is_ip


@click.command("render")
@MANIFEST
@click.option(
    "--phase",
    type=click.Choice(["first-boot", "running"]),
    default="running",
    show_default=True,
    help="first-boot: before the cluster is initialized; running: afterwards.",
)
@click.option(
    "-n",
    "--namespace",
    default="default",
    show_default=True,
    callback=fits(variables.is_namespace, variables.NAMESPACE),
    metavar="NAME",
    help="Namespace of clusters whose manifest has none.",
)
@click.option(
    "--operator-namespace",
    callback=fits(variables.is_namespace, variables.NAMESPACE),
    help="Namespace of the operator.",
)
@click.option("--image-repository", help="Repository of the server image; the version is its tag.")
@click.option(
    "--api-server-host",
    "hosts",
    multiple=True,
    default=("10.96.0.1",),
    show_default=True,
    callback=fits(is_ip, variables.ADDRESS),
    help="Address of the API server as pods see it; repeatable.",
)
def render_command(
    filename: BinaryIO,
    phase: Literal["first-boot", "running"],
    namespace: str,
    operator_namespace: str | None,
    image_repository: str | None,
    hosts: tuple[str, ...],
) -> None:
    """Print the objects that the operator creates for a manifest.

    Needs no API server. Prints no Secrets; comments name them.
    """
    from baoctl.commands.assumed import RenderOptions
    from baoctl.commands.render import render
    from baoctl.installation_settings import (
        REPOSITORY,
        installation_from_environment,
        is_repository,
    )

    if image_repository is not None and not is_repository(image_repository):
        raise click.BadParameter(
            f"{image_repository[:80]!r}: {REPOSITORY}", param_hint="--image-repository"
        )
    here = installation_from_environment()
    installation = dataclasses.replace(
        here,
        namespace=operator_namespace or here.namespace,
        image_repository=image_repository or here.image_repository,
    )
    options = RenderOptions(installation, namespace, hosts, phase)
    click.echo(render(content_of(filename), options), nl=False)
