"""`baoctl`, also `kubectl bao`: the table of verbs.

A verb imports its module only when it is called, so that `baoctl --help` loads no HTTP or TLS code.
"""

from __future__ import annotations

from typing import Final

import click

from baoctl import __version__
from baoctl.exit_codes import ExitCode
from baoctl.options import Verbs
from baoctl.verbs import (
    bench,
    bundle,
    clusters,
    completion,
    datacenter,
    edits,
    explain,
    login,
    migrate,
    plan,
    process,
    render,
    snapshots,
    upgrade,
)

_STATUSES: Final = ", ".join(
    f"{code.value} {code.name.lower().replace('_', ' ')}" for code in ExitCode
)


@click.group(
    cls=Verbs,
    help=f"""Inspect, troubleshoot and operate OpenBao clusters.

    CLUSTER is the name of an OpenBaoCluster. Exit statuses: {_STATUSES}.
    """,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="baoctl")
def main() -> None:
    """Run a verb."""


VERBS: Final[tuple[click.Command, ...]] = (
    bench.bench_command,
    bundle.bundle_command,
    clusters.status_command,
    clusters.doctor_command,
    clusters.events_command,
    clusters.tree_command,
    clusters.version_command,
    completion.completion_command,
    *edits.COMMANDS,
    edits.PROMOTE,
    datacenter.datacenter_group,
    explain.explain_group,
    login.login_command,
    migrate.migrate_command,
    plan.plan_command,
    process.job_command,
    process.provision_command,
    process.run_command,
    render.render_command,
    snapshots.backup_command,
    snapshots.restore_command,
    upgrade.upgrade_group,
)
for _verb in edits.UPGRADE_COMMANDS:
    upgrade.upgrade_group.add_command(_verb)
for _verb in VERBS:
    main.add_command(_verb)
