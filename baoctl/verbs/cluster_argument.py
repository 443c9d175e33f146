"""Arguments and options that a shell completes with the names of objects.

Imports only click; the completion imports its module. Called by the other modules of baoctl.verbs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import click

from baoctl.options import Access, fits

Names = Literal["backups", "clusters", "datacenters", "fenced pods", "servers", "services"]
"""The objects whose names complete a word."""


def names_of(names: Names) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return the completion of a parameter."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        from baoctl.commands.cluster.completion import object_names

        kubeconfig, context, namespace = map(ctx.params.get, ("kubeconfig", "context", "namespace"))
        access = Access(kubeconfig, context, namespace)
        # Behind an option without its value, click leaves the arguments in ctx.args.
        cluster = ctx.params.get("cluster") or next(iter(ctx.args), None)
        existing = object_names(names, access, cluster)
        return [name for name in existing if name.startswith(incomplete)]

    return complete


IS_NAME = fits(bool, "must be a name; is a variable of your shell empty?")
"""Refuses an empty name: a request for it reads the list of all objects."""
CLUSTER = click.argument("cluster", callback=IS_NAME, shell_complete=names_of("clusters"))
OPTIONAL_CLUSTER = click.argument(
    "cluster", required=False, callback=IS_NAME, shell_complete=names_of("clusters")
)
