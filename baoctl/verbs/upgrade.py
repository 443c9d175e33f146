"""`baoctl upgrade`: plans an upgrade of the servers and controls it.

Imports only click; a verb imports its module when it is called. Called by baoctl.cli.
"""

from __future__ import annotations

from typing import Any, BinaryIO, Final

import click

from baoctl import variables
from baoctl.options import Access, Verbs, content_of, fits, output_option
from baoctl.verbs.access_options import cluster_options, names_of


@click.group("upgrade", cls=Verbs)
def upgrade_group() -> None:
    """Plan an upgrade of a cluster, or control the one in progress."""


_KEY: Final = "must be NAME or NAMESPACE/NAME; check the variables of your shell"


def _is_key(text: str) -> bool:
    namespace, slash, name = text.rpartition("/")
    return bool(name) and (not slash or variables.is_namespace(namespace))


@upgrade_group.command("plan")
@click.argument(
    "name",
    metavar="[CLUSTER]",
    required=False,
    callback=fits(_is_key, _KEY),
    shell_complete=names_of("clusters"),
)
@click.option(
    "-f",
    "--filename",
    type=click.File("rb"),
    help="Dump of the cluster and its objects.  [default: ask the API server]",
)
@click.option(
    "--cluster",
    metavar="NAME",
    callback=fits(_is_key, _KEY),
    shell_complete=names_of("clusters"),
    help="The same as CLUSTER.",
)
@click.option(
    "--to", "version", required=True, metavar="VERSION", help="Target version of OpenBao."
)
@click.option("--image", help="New image of the servers, as in spec.image.")
@click.option(
    "--strategy",
    type=click.Choice(["RollingUpdate", "BlueGreen"]),
    help="Strategy, as in spec.upgrade.strategy.  [default: the current one]",
)
@output_option("text", "json", "yaml")
@cluster_options
def upgrade_plan_command(
    name: str | None,
    filename: BinaryIO | None,
    cluster: str | None,
    output: str,
    *,
    access: Access,
    **edit: Any,
) -> None:
    """Show the preflight checks and the steps of an upgrade. Changes nothing.

    CLUSTER is NAME or NAMESPACE/NAME, by default the only cluster of the dump. With -f it sends no
    request to an API server. Create the dump with kubectl get openbaocluster,sts,pods,pvc -o yaml.
    Exits with 3 if the upgrade would wait, and with 4 if it would be refused.
    """
    from baoctl.commands.upgrade.live_objects import VERSION, is_version, read_live
    from baoctl.installation_settings import IMAGE, installation_from_environment, is_image

    if name and cluster:
        raise click.UsageError("CLUSTER and --cluster are mutually exclusive")
    cluster, version, image = name or cluster, edit["version"], edit["image"]
    if not is_version(version):
        raise click.BadParameter(f"{version[:80]!r}: {VERSION}", param_hint="--to")
    if image and not is_image(image):
        raise click.BadParameter(f"{image[:80]!r}: {IMAGE}", param_hint="--image")
    # Invalid settings end the command before any request.
    deadline = installation_from_environment().pod_deadline
    dump = content_of(filename) if filename else None
    live = read_live(cluster, access) if dump is None else None
    # Imported after the requests, because it imports the state machine of the operator.
    from baoctl.commands.upgrade import plan

    request = plan.UpgradeRequest(**edit)
    forecast = (
        plan.plan_live(request, live, deadline)
        if live is not None
        else plan.plan_dump(request, dump or b"", cluster, deadline)
    )
    text = {"text": plan.as_text, "json": plan.as_json, "yaml": plan.as_yaml}[output](forecast)
    click.echo(text, nl=False)
    raise SystemExit(forecast.exit_code)
