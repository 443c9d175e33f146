"""The argument CLUSTER, which a shell completes with the names of the clusters.

Imports only click; the completion imports its module. Called by the other modules of baoctl.verbs.
"""

from __future__ import annotations

import click

from baoctl.options import Access


def _names(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    from baoctl.commands.cluster.completion import cluster_names

    kubeconfig, context, namespace = map(ctx.params.get, ("kubeconfig", "context", "namespace"))
    names = cluster_names(Access(kubeconfig, context, namespace))
    return [name for name in names if name.startswith(incomplete)]


CLUSTER = click.argument("cluster", shell_complete=_names)
OPTIONAL_CLUSTER = click.argument("cluster", required=False, shell_complete=_names)
