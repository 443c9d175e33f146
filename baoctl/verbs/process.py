"""The verbs that pods run: run, provision and job. Hidden from the help of users.

Uses click at import; what a verb needs is imported when it is called. Called by baoctl.cli.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping

import click


@click.command("run", hidden=True)
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


@click.command("provision", hidden=True)
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


@click.command("job", hidden=True)
@click.argument("mode", type=click.Choice([*JOBS]))
def job_command(mode: str) -> None:
    """Do a job of a pod once: backup, restore, the test of a backup, or a step of an upgrade.

    It is told everything by environment variables (contracts/jobs/env.py), which the operator sets.
    """
    importlib.import_module(JOBS[mode]).main(mode)
