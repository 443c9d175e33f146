"""`baoctl restore`: restores a snapshot, after the user has confirmed the consequences.

Uses runtime.client.client, and rich through baoctl.commands.cluster.terminal. Called by
baoctl.verbs.snapshots. The request is an OpenBaoRestore, which a user can also create with kubectl.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, TextIO

from rich.table import Table

from baoctl.commands.api_client import FIELD_MANAGER, RequestError, Session, run_in_session
from baoctl.commands.cluster.fetch import NAMES_MAX, read_cluster
from baoctl.commands.cluster.observed import Part, age, moment, number, part, text
from baoctl.commands.cluster.run import print_object, progress_stream, run_name, wait_for_end
from baoctl.commands.cluster.run_steps import UNKNOWN
from baoctl.commands.cluster.terminal import STRUCTURED, console, emit, safe, table
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from contracts.api.group import API_VERSION, BACKUPS, RESTORE_KIND, RESTORES
from contracts.api.values.duration import counted_duration
from contracts.conditions.message import clean_message
from contracts.naming.labels import RESTORE_ACKNOWLEDGE
from contracts.retention import RetentionCandidate, RetentionLimits, exceeded_limits
from contracts.server_features import can_read_data_of
from runtime.types import Object, key_of

_NEVER: Final = datetime.min.replace(tzinfo=UTC)
SHOWN_MAX: Final = 20
"""Maximum number of backups in the list, the newest first."""


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """A backup that can be restored."""

    backup: str
    taken_at: datetime | None
    size: int | None
    """Bytes."""
    version: str
    """Version of OpenBao that took it."""
    before_upgrade: bool = False
    """Whether an upgrade took it. Retention keeps these snapshots."""
    tested: bool = False
    """Whether the snapshot passed a restore test."""


@dataclass(frozen=True, slots=True)
class RestoreOptions:
    """The options of the verb."""

    cluster: str
    backup: str | None
    """None: the user chooses from a list."""
    dry_run: bool
    wait: bool
    seconds: float
    output: str = "text"


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts. Each raises click.UsageError for an invalid answer."""

    choose: Callable[[Sequence[str]], str]
    """Returns the backup that the user chooses."""
    confirm: Callable[[str], None]
    """Asks the user to type the name of the cluster."""


def restore(options: RestoreOptions, access: Access, prompts: Prompts) -> ExitCode:
    """Ask for confirmation, create an OpenBaoRestore, print its progress. Raises RequestError."""

    async def run(api: Session) -> ExitCode:
        return await _restore(api, options, prompts)

    return run_in_session("restore", run, access)


async def _restore(api: Session, options: RestoreOptions, prompts: Prompts) -> ExitCode:
    cluster = await read_cluster(api, options.cluster)
    backups = await api.client.list(BACKUPS, api.namespace)
    rows = snapshots_of(options.cluster, backups.items)
    retention = part(cluster, "spec", "backup", "retention")
    now, stream = api.clock.now(), progress_stream(options.output)
    if not rows:
        raise RequestError(
            f"{api.namespace}/{options.cluster} has no Completed OpenBaoBackup; create one with "
            f"kubectl bao backup {options.cluster}",
            ExitCode.NOT_FOUND,
        )
    if options.backup is None:
        notes = [removal_note(retention_rule(row, rows, retention)) for row in rows[:SHOWN_MAX]]
        emit(console(stream), listing(rows[:SHOWN_MAX], now, notes))
        name = prompts.choose([snapshot.backup for snapshot in rows[:SHOWN_MAX]])
    else:
        name = options.backup
    row = select_row(rows, name, options.cluster)
    check_version(row, cluster)
    for line in consequences(row, options.cluster, now, retention_rule(row, rows, retention)):
        stream.write(f"{clean_message(line)}\n")
    if not options.dry_run:
        prompts.confirm(options.cluster)
    body = manifest(run_name(api, options.cluster, "restore"), api.namespace, options.cluster, row)
    live = await api.client.create(
        RESTORES, body, field_manager=FIELD_MANAGER, dry_run=options.dry_run
    )
    result = "would be created" if options.dry_run else "created"
    restore_name = body["metadata"]["name"]
    stream.write(f"{RESTORE_KIND} {api.namespace}/{restore_name} {result}\n")
    wait = options.wait and not options.dry_run
    if wait:
        live = await wait_for_end(api, RESTORES, restore_name, options.seconds, stream)
    if options.output in STRUCTURED:
        print_object(live, options.output)
    return _exit_code(live, stream) if wait else ExitCode.GOOD


def snapshots_of(cluster: str, backups: Iterable[Object]) -> tuple[SnapshotRow, ...]:
    """Return the Completed backups of a cluster, the newest first."""
    rows = [
        SnapshotRow(
            key_of(backup).name,
            # The Job takes the snapshot after this time, so the data is not older.
            moment(backup, "status", "startedAt"),
            number(part(backup, "status", "snapshot").get("size")),
            text(backup, "status", "snapshot", "version"),
            text(backup, "spec", "origin") == "PreUpgrade",
            text(backup, "status", "proof", "outcome") == "Passed",
        )
        for backup in backups
        if text(backup, "spec", "cluster") == cluster
        and text(backup, "status", "phase") == "Completed"
    ]
    return tuple(sorted(rows, key=lambda row: row.taken_at or _NEVER, reverse=True))


def retention_rule(row: SnapshotRow, rows: Sequence[SnapshotRow], retention: Part) -> str:
    """Return the field of spec.backup.retention that removes a snapshot; "" for none.

    `rows` are all Completed backups, the newest first. The Job of each backup applies the rules to
    the objects in the store. A snapshot may exist longer: its deletion failed, it is in use, or no
    backup has completed since the rules were set.
    """
    candidates = [other for other in rows if not other.before_upgrade]
    if row not in candidates or retention.get("dryRun") is True:
        return ""
    tested = next((other for other in candidates if other.tested), None)
    snapshots = [RetentionCandidate(other.taken_at, other == tested) for other in candidates]
    exceeded = exceeded_limits(snapshots, _limits(retention), candidates[0].taken_at)
    limit = exceeded[candidates.index(row)]
    return f"spec.backup.retention.{limit}={retention[limit]}" if limit else ""


def _limits(retention: Part) -> RetentionLimits:
    # A duration that overflows is longer than any age, so there is no limit.
    max_age = counted_duration(text(retention, "maxAge")) or timedelta(0)
    return RetentionLimits(number(retention.get("maxCount")) or 0, max_age)


def removal_note(rule: str) -> str:
    """Return the note about a snapshot that this rule of retention removes; "" for no rule."""
    return f"may no longer exist: {rule}" if rule else ""


def select_row(rows: Sequence[SnapshotRow], name: str, cluster: str) -> SnapshotRow:
    """Return the backup with a name. Raises RequestError if there is none."""
    for row in rows:
        if row.backup == name:
            return row
    names = ", ".join(row.backup for row in rows[:NAMES_MAX])
    raise RequestError(
        f"{cluster} has no Completed OpenBaoBackup {name[:80]!r}; choose one of {names}",
        ExitCode.NOT_FOUND,
    )


def check_version(row: SnapshotRow, cluster: Object) -> None:
    """Raise RequestError if the servers cannot read the snapshot.

    The Job of the restore compares the versions too, after it has downloaded the snapshot.
    """
    running = text(cluster, "status", "currentVersion")
    if not can_read_data_of(running, row.version):
        raise RequestError(
            f"OpenBao {row.version} took {row.backup}, and {key_of(cluster).name} runs {running}, "
            f"which cannot read newer data: set spec.version to {row.version} first, or choose an "
            "older backup",
            ExitCode.REFUSED,
        )


def listing(rows: Sequence[SnapshotRow], now: datetime, notes: Sequence[str]) -> Table:
    """Return the table of the backups, with a note for each."""
    backups = table("BACKUP", "AGE", "SIZE", "VERSION", "NOTE")
    for row, note in zip(rows, notes, strict=True):
        size, version = str(row.size or ""), safe(row.version)
        backups.add_row(safe(row.backup), _column(row, now), size, version, safe(note))
    return backups


def consequences(row: SnapshotRow, cluster: str, now: datetime, rule: str) -> tuple[str, ...]:
    """Return the consequences of a restore, one sentence or warning each."""
    missing = (
        f"Warning: the snapshot of {row.backup} may no longer exist, because "
        f"{rule} removes it. If the store does not have it, the restore fails and "
        "changes nothing."
    )
    return (
        *((missing,) if rule else ()),
        f"The data of {cluster} is replaced by {row.backup}, which is {_age(row, now)}.",
        "Everything written since then is lost. To keep it, run kubectl bao backup first.",
        "At the end all servers restart at the same time: the cluster is down for some seconds.",
    )


def manifest(name: str, namespace: str, cluster: str, row: SnapshotRow) -> Object:
    """Return the OpenBaoRestore."""
    return {
        "apiVersion": API_VERSION,
        "kind": RESTORE_KIND,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"cluster": cluster, "source": {"backup": row.backup}},
    }


def _column(row: SnapshotRow, now: datetime) -> str:
    return age(now - row.taken_at) if row.taken_at else "unknown"


def _age(row: SnapshotRow, now: datetime) -> str:
    return f"{age(now - row.taken_at)} old" if row.taken_at else "of unknown age"


def _exit_code(live: Object, stream: TextIO) -> ExitCode:
    phase = text(live, "status", "phase")
    if phase == UNKNOWN:
        operation = text(live, "status", "execution", "operationID")
        key = key_of(live)
        stream.write(
            "Check the data. Then acknowledge the outcome: Resume continues, Abandon ends it:\n"
            f"kubectl -n {key.namespace} annotate {RESTORES.plural} {key.name} "
            f"{RESTORE_ACKNOWLEDGE}={clean_message(operation)}/Resume\n"
        )
        return ExitCode.NOT_READY
    return ExitCode.GOOD if phase == "Completed" else ExitCode.ERROR
