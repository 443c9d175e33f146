"""`baoctl backup`: requests a snapshot, and waits for the result.

Uses runtime.client.client. Called by baoctl.verbs.snapshots. The request is an OpenBaoBackup, which
a user can also create with kubectl.
"""

from __future__ import annotations

import sys

from baoctl.commands.api_client import FIELD_MANAGER, RequestError, Session, run_in_session
from baoctl.commands.cluster.fetch import read_cluster
from baoctl.commands.cluster.observed import number, part, text
from baoctl.commands.cluster.run import print_object, progress_stream, run_name, wait_for_end
from baoctl.commands.cluster.terminal import STRUCTURED
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from contracts.api.group import API_VERSION, BACKUP_KIND, BACKUPS
from contracts.conditions.message import clean_message
from runtime.types import Object, key_of


def backup(cluster: str, access: Access, *, wait: bool, seconds: float, output: str) -> ExitCode:
    """Create an OpenBaoBackup, and print its progress and result. Raises RequestError."""

    async def run(api: Session) -> ExitCode:
        live = await create_backup(api, cluster)
        name, lines = key_of(live).name, progress_stream(output)
        lines.write(f"OpenBaoBackup {api.namespace}/{name} created\n")
        if wait:
            live = await wait_for_end(api, BACKUPS, name, seconds, lines)
        if output in STRUCTURED:
            print_object(live, output)
        elif wait:
            _print_snapshot(live)
        completed = text(live, "status", "phase") == "Completed"
        return ExitCode.GOOD if completed or not wait else ExitCode.ERROR

    return run_in_session("backup", run, access)


async def create_backup(api: Session, cluster: str) -> Object:
    """Create the OpenBaoBackup, and return it. Raises RequestError."""
    live = await read_cluster(api, cluster)
    if not part(live, "spec", "backup"):
        raise RequestError(
            f"{api.namespace}/{cluster} has no spec.backup, which configures the store; set it",
            ExitCode.REFUSED,
        )
    name = run_name(api, cluster, "manual")
    body: Object = {
        "apiVersion": API_VERSION,
        "kind": BACKUP_KIND,
        "metadata": {"name": name, "namespace": api.namespace},
        "spec": {"cluster": cluster},
    }
    return await api.client.create(BACKUPS, body, field_manager=FIELD_MANAGER)


def _print_snapshot(live: Object) -> None:
    if text(live, "status", "phase") != "Completed":
        return
    size = number(part(live, "status", "snapshot").get("size"))
    key = text(live, "status", "snapshot", "key")
    sys.stdout.write(clean_message(f"{key} {size} bytes") + "\n")
