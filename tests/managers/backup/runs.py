"""Finished and running backups."""

from datetime import timedelta
from typing import Any

from contracts.naming import labels
from runtime.outcome import Wait
from runtime.testing.clock import EPOCH as NOW
from runtime.types import Object
from tests.managers.backup.bench import Bench, by_hand


def ended(name: str, phase: str = "Completed", minute: int = 0, **status: Any) -> Object:
    """Return a backup of the operator that ended and is counted, unless `status` overrides it."""
    moment = NOW + timedelta(minutes=minute)
    backup = by_hand(name, labels={labels.MANAGED_BY: labels.OPERATOR})
    backup["status"] = {
        "phase": phase,
        "reason": "BackupCompleted" if phase == "Completed" else "StorageFailed",
        "message": "why",
        "clusterUID": "uid-x",
        "key": f"prod/ns/x/{moment:%Y-%m-%dT%H-%M-%SZ}-0000{minute:04x}.snap",
        "startedAt": f"{moment:%Y-%m-%dT%H:%M:%SZ}",
        "completedAt": f"{moment + timedelta(seconds=2):%Y-%m-%dT%H:%M:%SZ}",
        "counted": True,
        **status,
    }
    return backup


async def running(bench: Bench | None = None) -> Bench:
    bench = bench or Bench(None, by_hand())
    assert isinstance(await bench.run(), Wait)
    assert bench.phase() == ("Running", "BackupRunning")
    bench.api.calls.clear()
    return bench
