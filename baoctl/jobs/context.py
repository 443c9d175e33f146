"""Where a job runs: its clock, its environment, and how it reaches others.

Uses addresses and session. Made by run for a pod, and by tests for a machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from baoctl.jobs.leader_client import ServerAddresses
from baoctl.jobs.store.egress_policy import EgressPolicy
from runtime.clock import Clock


@dataclass(frozen=True, slots=True)
class JobContext:
    """What every mode of a job gets beside its record of variables."""

    clock: Clock
    environ: Mapping[str, str]
    policy: EgressPolicy
    """Where a store may be."""
    addresses: ServerAddresses = field(default_factory=ServerAddresses)
