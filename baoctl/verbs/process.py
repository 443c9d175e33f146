"""The verbs that pods run: run, provision and job. Hidden in the help.

Uses click, baoctl.garbage and baoctl.library_imports; a verb imports its module when it is called.
Called by baoctl.cli.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from baoctl.garbage import collect_as_usual
from baoctl.library_imports import import_aiohttp, import_structlog
from baoctl.variables import SettingError

if TYPE_CHECKING:
    from baoctl.settings import Settings


def process_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of every process to a verb, which receives them as `flags`."""

    @click.option("--kubeconfig", help="Kubeconfig to use; in a pod its ServiceAccount is used.")
    @click.option(
        "--leader-elect/--no-leader-elect",
        default=True,
        show_default=True,
        help="Enable leader election.",
    )
    @click.option(
        "--port", type=click.IntRange(0, 65535), help="Port of metrics and health checks."
    )
    @click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        help="Minimum log level.",
    )
    @functools.wraps(command)
    def wrapped(
        *,
        kubeconfig: str | None,
        leader_elect: bool,
        port: int | None,
        log_level: str | None,
        **others: Any,
    ) -> None:
        command(flags=Flags(kubeconfig, leader_elect, port, log_level), **others)

    return wrapped


@dataclass(frozen=True, slots=True)
class Flags:
    """The options of every process; None: the value of the environment."""

    kubeconfig: str | None
    leader_election: bool
    port: int | None
    log_level: str | None

    def apply_to(self, settings: Settings) -> Settings:
        """Return the settings of the environment, overridden by these options.

        Raises SettingError for a shard without leader election.
        """
        if not (self.leader_election or settings.shard.is_only):
            rule = "needs leader election: without it two processes could own the same shard"
            raise SettingError("SHARD", str(settings.shard), rule)
        return dataclasses.replace(
            settings,
            api_server=dataclasses.replace(
                settings.api_server, kubeconfig=self.kubeconfig or settings.api_server.kubeconfig
            ),
            leader_election=self.leader_election,
            port=settings.port if self.port is None else self.port,
            log_level=self.log_level or settings.log_level,
        )


@click.command("run", hidden=True)
@click.option("--watch-namespace", help="Namespaces to watch (a, or a,b).  [default: all]")
@click.option("--shard", help="Shard of the clusters, INDEX/COUNT.  [default: 0/1]")
@process_options
def run_command(watch_namespace: str | None, shard: str | None, *, flags: Flags) -> None:
    """Run the operator until it is stopped."""
    import_structlog()
    import_aiohttp()
    from baoctl.process.run import run_operator
    from baoctl.settings import from_environment

    collect_as_usual()
    run_operator(flags.apply_to(from_environment(watch_namespace=watch_namespace, shard=shard)))


@click.command("provision", hidden=True)
@process_options
def provision_command(*, flags: Flags) -> None:
    """Run the provisioner until it is stopped. It grants the operator rights for tenants."""
    import_structlog()
    import_aiohttp()
    from baoctl.process.run import run_provisioner
    from baoctl.settings import provisioner_from_environment

    collect_as_usual()
    settings = provisioner_from_environment()
    run_provisioner(dataclasses.replace(settings, process=flags.apply_to(settings.process)))


JOBS: Mapping[str, str] = {
    "backup": "baoctl.jobs.main",
    "restore": "baoctl.jobs.main",
    "restore-test": "baoctl.jobs.main",
    # A separate module, which starts faster: it needs neither an object store nor the API server.
    "upgrade": "baoctl.jobs.upgrade.main",
}
"""Modes of `baoctl job`, and the modules whose `main` runs them."""


@click.command("job", hidden=True)
@click.argument("mode", type=click.Choice([*JOBS]))
def job_command(mode: str) -> None:
    """Run the process of a Job: a backup, a restore, a restore test, or a step of an upgrade.

    Its parameters are environment variables (contracts/jobs/env.py), which the operator sets.
    """
    import_structlog()
    import_aiohttp()
    module = importlib.import_module(JOBS[mode])
    collect_as_usual()
    module.main(mode)
