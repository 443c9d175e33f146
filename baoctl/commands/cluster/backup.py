"""`baoctl backup`: orders a snapshot now, and waits for its end.

Uses runtime.client.client. Called by baoctl.verbs.orders. The order is an OpenBaoBackup, as a user
may create one with kubectl.
"""

from __future__ import annotations

import sys
from datetime import UTC
from typing import Final

from baoctl.commands.api_client import AskError, Session, ask
from baoctl.commands.cluster.fetch import read_cluster
from baoctl.commands.cluster.observed import number, part, text
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from contracts.api.backup import TERMINAL
from contracts.api.group import API_VERSION, BACKUP_KIND, BACKUPS
from contracts.conditions.condition import clean_message
from runtime.clock import Deadline
from runtime.types import Object, ObjectKey

FIELD_MANAGER: Final = "baoctl"
PERIOD: Final = 1.0


def backup(cluster: str, access: Access, *, wait: bool, seconds: float) -> ExitCode:
    """Order it, and print what becomes of it. Raises AskError."""

    async def question(api: Session) -> ExitCode:
        name = await ordered(api, cluster)
        sys.stdout.write(f"OpenBaoBackup {api.namespace}/{name} created\n")
        if not wait:
            return ExitCode.GOOD
        return await _awaited(api, name, seconds)

    return ask("backup", question, access)


async def ordered(api: Session, cluster: str) -> str:
    """Create the OpenBaoBackup; return its name. Raises AskError."""
    live = await read_cluster(api, cluster)
    if not part(live, "spec", "backup"):
        raise AskError(
            f"{api.namespace}/{cluster}: spec.backup says where backups go, and is missing; set it",
            ExitCode.REFUSED,
        )
    now = api.clock.now().astimezone(UTC)
    name = f"{cluster}-manual-{now:%Y%m%d-%H%M%S}"
    wanted: Object = {
        "apiVersion": API_VERSION,
        "kind": BACKUP_KIND,
        "metadata": {"name": name, "namespace": api.namespace},
        "spec": {"cluster": cluster},
    }
    await api.client.create(BACKUPS, wanted, field_manager=FIELD_MANAGER)
    return name


async def _awaited(api: Session, name: str, seconds: float) -> ExitCode:
    last = ""
    try:
        async with Deadline(api.clock, seconds):
            while True:
                live = await api.client.get(BACKUPS, ObjectKey(api.namespace, name))
                phase = text(live, "status", "phase") or "Pending"
                said = f"{phase}: {text(live, 'status', 'message')}".rstrip(": ")
                if said != last:
                    sys.stdout.write(f"{clean_message(said)}\n")
                    last = said
                if phase in TERMINAL:
                    return _end(live, phase)
                await api.clock.sleep(PERIOD)
    except TimeoutError:
        text_ = f"OpenBaoBackup {name} has not ended in {seconds:g} s; it goes on: kubectl get it"
        raise AskError(text_, ExitCode.NOT_READY) from None


def _end(live: Object, phase: str) -> ExitCode:
    if phase != "Completed":
        return ExitCode.ERROR
    size = number(part(live, "status", "snapshot").get("size"))
    key = text(live, "status", "snapshot", "key")
    sys.stdout.write(clean_message(f"{key} {size} bytes") + "\n")
    return ExitCode.GOOD
