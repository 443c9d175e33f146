"""Dependencies of the backup reconcilers."""

from __future__ import annotations

from dataclasses import dataclass

from managers.jobs.client import Jobs
from managers.operation_lock.client import OperationLocks
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.events import EventRecorder


@dataclass(frozen=True, slots=True)
class BackupDependencies:
    """The dependencies, created once per process."""

    client: Client
    locks: OperationLocks
    jobs: Jobs
    events: EventRecorder
    clock: Clock
