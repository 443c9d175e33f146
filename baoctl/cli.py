"""`baoctl`, also `kubectl bao`: one module per verb, imported when it is called.

What a verb needs is imported inside of it: `baoctl --help` must not pay for HTTP and TLS.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping
from typing import BinaryIO, Literal

import click

from baoctl import __version__, variables
from baoctl.options import Verbs, content_of, fits


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="baoctl")
def main() -> None:
    """Run and inspect the OpenBao operator."""


@main.command("run")
@click.option("--kubeconfig", help="Kubeconfig to use; in a pod its ServiceAccount is used.")
@click.option("--watch-namespace", help="Only clusters of these (a, or a,b).  [default: all]")
@click.option(
    "--leader-elect/--no-leader-elect",
    default=True,
    show_default=True,
    help="Enable leader election.",
)
@click.option("--port", type=click.IntRange(0, 65535), help="Port of metrics and health checks.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="Minimum log level.",
)
def run_command(
    kubeconfig: str | None,
    watch_namespace: str | None,
    leader_elect: bool,
    port: int | None,
    log_level: str | None,
) -> None:
    """Run the operator until it is told to stop."""
    from baoctl.process.run import run_operator
    from baoctl.settings import from_environment

    settings = from_environment(watch_namespace=watch_namespace)
    run_operator(
        dataclasses.replace(
            settings,
            kubeconfig=kubeconfig or settings.kubeconfig,
            leader_election=leader_elect,
            port=settings.port if port is None else port,
            log_level=log_level or settings.log_level,
        )
    )


@main.command("provision")
@click.option("--kubeconfig", help="Kubeconfig to use; in a pod its ServiceAccount is used.")
@click.option(
    "--leader-elect/--no-leader-elect",
    default=True,
    show_default=True,
    help="Enable leader election.",
)
@click.option("--port", type=click.IntRange(0, 65535), help="Port of metrics and health checks.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="Minimum log level.",
)
def provision_command(
    kubeconfig: str | None, leader_elect: bool, port: int | None, log_level: str | None
) -> None:
    """Open namespaces for tenants until it is told to stop."""
    from baoctl.process.run import run_provisioner
    from baoctl.settings import provisioner_from_environment

    settings = provisioner_from_environment()
    process = dataclasses.replace(
        settings.process,
        kubeconfig=kubeconfig or settings.process.kubeconfig,
        leader_election=leader_elect,
        port=settings.process.port if port is None else port,
        log_level=log_level or settings.process.log_level,
    )
    run_provisioner(dataclasses.replace(settings, process=process))


JOBS: Mapping[str, str] = {
    "backup": "baoctl.jobs.main",
    "restore": "baoctl.jobs.main",
    "restore-test": "baoctl.jobs.main",
    # A module of its own, because it is in a hurry: it needs no store and reports to no object.
    "upgrade": "baoctl.jobs.upgrade.main",
}
"""Modes of `baoctl job`, and the modules whose `main` does them."""


@main.command("job")
@click.argument("mode", type=click.Choice([*JOBS]))
def job_command(mode: str) -> None:
    """Do a job of a pod once: backup, restore, the test of a backup, or a step of an upgrade.

    It is told everything by environment variables (contracts/jobs/env.py), which the operator sets.
    """
    importlib.import_module(JOBS[mode]).main(mode)


@main.group("explain")
def explain_group() -> None:
    """Print what the operator knows about itself."""


@explain_group.command("reasons")
@click.argument("reason", required=False)
def explain_reasons(reason: str | None) -> None:
    """Explain a REASON of a condition, or list them all."""
    from baoctl.commands.explain import reason_text
    from contracts.conditions.catalogue import REASONS

    if reason is not None and reason not in REASONS:
        raise click.ClickException(f"there is no reason {reason!r}; see baoctl explain reasons")
    for name in [reason] if reason else sorted(REASONS):
        click.echo(reason_text(name))


@explain_group.command("conditions")
@click.argument("condition", required=False)
def explain_conditions(condition: str | None) -> None:
    """Explain a CONDITION and its reasons, or list all conditions."""
    from baoctl.commands.explain import condition_line, condition_text
    from contracts.conditions.catalogue import TYPES

    if condition is None:
        for kind in TYPES:
            click.echo(condition_line(kind))
        return
    condition_type = next((kind for kind in TYPES if kind.name == condition), None)
    if condition_type is None:
        raise click.ClickException(
            f"there is no condition {condition!r}; see baoctl explain conditions"
        )
    click.echo(condition_text(condition_type), nl=False)


@explain_group.command("steps")
def explain_steps() -> None:
    """List the steps of a reconciliation in their order."""
    from managers.cluster.plan.steps import FOUNDATION, WORKLOAD

    for number, step in enumerate((*FOUNDATION, WORKLOAD), start=1):
        text = (step.plan.__doc__ or "").strip().splitlines()
        click.echo(f"{number}. {step.name}: {text[0] if text else ''}")


@main.command("render")
@click.option(
    "-f",
    "--filename",
    type=click.File("rb"),
    required=True,
    help="Manifest of one or more clusters; - reads standard input.",
)
@click.option(
    "--phase",
    type=click.Choice(["first-boot", "running"]),
    default="running",
    show_default=True,
    help="Before there is data, or after.",
)
@click.option(
    "-n",
    "--namespace",
    default="default",
    show_default=True,
    callback=fits(variables.is_namespace, variables.NAMESPACE),
    help="If none is named.",
)
@click.option(
    "--operator-namespace",
    callback=fits(variables.is_namespace, variables.NAMESPACE),
    help="Where the operator runs.",
)
@click.option("--image-repository", help="Repository of the server image; the version is its tag.")
@click.option(
    "--api-server-host",
    "hosts",
    multiple=True,
    default=("10.96.0.1",),
    show_default=True,
    callback=fits(variables.is_address, variables.ADDRESS),
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
    """Print the objects that the operator would make, without a cluster."""
    from baoctl.commands.render import RenderError, RenderOptions, render
    from baoctl.settings import REPOSITORY, from_environment, is_repository

    if image_repository is not None and not is_repository(image_repository):
        raise click.BadParameter(
            f"{image_repository[:80]!r}: {REPOSITORY}", param_hint="--image-repository"
        )
    here = from_environment().installation
    installation = dataclasses.replace(
        here,
        namespace=operator_namespace or here.namespace,
        image_repository=image_repository or here.image_repository,
    )
    try:
        text = render(content_of(filename), RenderOptions(installation, namespace, hosts, phase))
    except RenderError as error:
        raise click.ClickException(str(error)) from None
    click.echo(text, nl=False)


@main.command("migrate")
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
    status is 1.
    """
    from baoctl.commands.migrate import MigrateError, explanation_of, manifest_of, migrated

    try:
        documents = migrated(content_of(filename))
    except MigrateError as error:
        raise click.ClickException(str(error)) from None
    click.echo(manifest_of(documents), nl=False)
    click.echo(explanation_of(documents), nl=False, err=True)
    if any(one.left for one in documents):
        raise click.exceptions.Exit(1)


@main.group("upgrade")
def upgrade_group() -> None:
    """Look ahead to another version of the servers."""


@upgrade_group.command("plan")
@click.option(
    "-f",
    "--filename",
    type=click.File("rb"),
    help="Dump of the cluster and its objects; - reads standard input.  [default: ask KUBECONFIG]",
)
@click.option("--cluster", help="namespace/name; may be left out when the dump holds only one.")
@click.option("--to", "version", required=True, help="Version of OpenBao to go to.")
@click.option("--image", help="Image of the servers, as spec.image would name it.")
@click.option(
    "--strategy",
    type=click.Choice(["RollingUpdate", "BlueGreen"]),
    help="As spec.upgrade.strategy would say.  [default: as it says now]",
)
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text")
def upgrade_plan_command(
    filename: BinaryIO | None,
    cluster: str | None,
    version: str,
    image: str | None,
    strategy: Literal["RollingUpdate", "BlueGreen"] | None,
    output: Literal["text", "json"],
) -> None:
    """Tell what an upgrade would do, in which order, and what could stop it. Changes nothing.

    A dump: kubectl get openbaocluster,sts,pods,pvc -o yaml. Exits with 3 if it would be refused,
    with 2 for arguments that make no sense, and with 1 when there is nothing to look at.
    """
    from baoctl.commands.upgrade.cluster_dump import DumpError
    from baoctl.commands.upgrade.plan import (
        VERSION,
        UpgradeRequest,
        as_json,
        as_text,
        is_version,
        plan,
    )
    from baoctl.settings import IMAGE, is_image

    if not is_version(version):
        raise click.BadParameter(f"{version[:80]!r}: {VERSION}", param_hint="--to")
    if image and not is_image(image):
        raise click.BadParameter(f"{image[:80]!r}: {IMAGE}", param_hint="--image")
    try:
        dump = content_of(filename) if filename else None
        forecast = plan(UpgradeRequest(version, image, strategy), dump, cluster)
    except DumpError as error:
        raise click.ClickException(str(error)) from None
    click.echo((as_json if output == "json" else as_text)(forecast), nl=False)
    raise SystemExit(forecast.exit_code)


@main.group("datacenter")
def datacenter_group() -> None:
    """Look at the shared services of datacenters, and have them redeployed."""


@datacenter_group.command("status")
@click.argument("datacenter", metavar="DC")
@click.option("-w", "--watch", is_flag=True, help="Print it anew whenever something has changed.")
@click.option("--until-ready", is_flag=True, help="Watch, and end as soon as it is Ready.")
@click.option("--timeout", help="End after so long, such as 5m, whatever it is then.")
@click.option("-v", "--verbose", is_flag=True, help="Name the objects of each service, too.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text")
def datacenter_status_command(
    datacenter: str,
    watch: bool,
    until_ready: bool,
    timeout: str | None,
    verbose: bool,
    output: Literal["text", "json"],
) -> None:
    """Show Datacenter DC, its sources and its services as a tree. Changes nothing.

    A service stands under the first one that it depends on. Exits with 0 when everything runs as
    the present spec asks (Ready), with 3 when not, and with 1 when there is no answer.
    """
    from baoctl.commands.api_client import AskError
    from baoctl.commands.datacenter.watch import looks_of, show

    try:
        looks = looks_of(watch=watch, until_ready=until_ready, timeout=timeout)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--timeout") from None
    try:
        status = show(datacenter, looks, output=output, verbose=verbose)
    except AskError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        # How a watch ends, as a shell tells it.
        raise SystemExit(130) from None
    raise SystemExit(status)


@datacenter_group.command("get")
@click.argument("identity", metavar="ID")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text")
def datacenter_get_command(identity: str, output: Literal["text", "json"]) -> None:
    """Show the datacenter or the service that ID names: its UID, or its name. Changes nothing.

    The id of an audit record is that of a service. Exits with 0 when the datacenter is Ready, or
    the service Running, with 3 when not, and with 1 when there is no answer or nothing has that ID.
    """
    from baoctl.commands.api_client import AskError
    from baoctl.commands.datacenter.get import get

    try:
        status = get(identity, output=output)
    except AskError as error:
        raise click.ClickException(str(error)) from None
    raise SystemExit(status)


@datacenter_group.command("redeploy")
@click.argument("target", metavar="DC/SERVICE")
@click.option("--token", help="Text of the order; the same text again is none.  [default: now]")
def datacenter_redeploy_command(target: str, token: str | None) -> None:
    """Have the pods of SERVICE in Datacenter DC replaced, whatever source it comes from.

    Writes an order into spec.redeploy of the Datacenter; the operator carries it out.
    """
    from baoctl.commands.api_client import AskError
    from baoctl.commands.datacenter.redeploy import redeploy

    try:
        click.echo(redeploy(target, token))
    except AskError as error:
        raise click.ClickException(str(error)) from None
