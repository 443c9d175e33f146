"""The options that select an API server and a namespace, and the completion of their values.

Uses click and baoctl.library_imports; a completion imports its module when it runs. Used by the
other modules of baoctl.verbs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal

import click

from baoctl import variables
from baoctl.library_imports import import_aiohttp
from baoctl.options import Access, F, fits

Names = Literal[
    "backups",
    "clusters",
    "contexts",
    "datacenters",
    "fenced pods",
    "namespaces",
    "servers",
    "service accounts",
    "services",
]
"""What a completion lists: names of objects, or of the contexts of the kubeconfig."""


def names_of(names: Names) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return the shell_complete callback of a parameter that takes one of these names."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        from baoctl.commands.cluster.completion import names_of_contexts, object_names

        kubeconfig, context, namespace = map(ctx.params.get, ("kubeconfig", "context", "namespace"))
        access = Access(kubeconfig, context, namespace)
        if names == "contexts":
            candidates = names_of_contexts(access)
        else:
            # After an option without a value, click leaves the arguments in ctx.args.
            cluster = ctx.params.get("cluster") or next(iter(ctx.args), None)
            candidates = object_names(names, access, cluster)
        return [name for name in candidates if name.startswith(incomplete)]

    return complete


_ACCESS = (
    click.option(
        "--kubeconfig",
        metavar="FILE",
        type=click.Path(),
        help="Kubeconfig to use.  [default: $KUBECONFIG, else ~/.kube/config]",
    ),
    click.option(
        "--context",
        metavar="NAME",
        shell_complete=names_of("contexts"),
        help="Context of the kubeconfig.  [default: the current one]",
    ),
)
_NAMESPACE = click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    callback=fits(variables.is_namespace, variables.NAMESPACE),
    shell_complete=names_of("namespaces"),
    help="Namespace of the cluster.  [default: from the context]",
)
_EVERY_NAMESPACE = click.option(
    "-A",
    "--all-namespaces",
    is_flag=True,
    help="Use the clusters of all namespaces.",
)


def api_server_options(verb: F) -> F:
    """Add --kubeconfig and --context to a verb, which receives them as `access`."""
    return _with_access(verb, _ACCESS)


def cluster_options(verb: F) -> F:
    """Add --kubeconfig, --context and -n to a verb, which receives them as `access`."""
    return _with_access(verb, (*_ACCESS, _NAMESPACE))


def cluster_list_options(verb: F) -> F:
    """Add --kubeconfig, --context, -n and -A to a verb, which receives them as `access`."""
    return _with_access(verb, (*_ACCESS, _NAMESPACE, _EVERY_NAMESPACE))


def _with_access(verb: F, options: Sequence[Callable[[Any], Any]]) -> F:
    @functools.wraps(verb)
    def call(
        *arguments: Any,
        kubeconfig: str | None,
        context: str | None,
        namespace: str | None = None,
        all_namespaces: bool = False,
        **others: Any,
    ) -> Any:
        if namespace is not None and all_namespaces:
            raise click.UsageError("-n and -A are mutually exclusive", click.get_current_context())
        access = Access(kubeconfig, context, namespace, all_namespaces)
        import_aiohttp()
        return verb(*arguments, access=access, **others)

    command: Any = call
    for option in reversed(options):
        command = option(command)
    return command  # type: ignore[no-any-return]
