"""The context of a job: its clock, its environment, and how it connects to servers and stores.

Uses store.egress_policy and leader_client. baoctl.jobs.main creates it for a pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from baoctl.jobs.leader_client import ServerAddresses
from baoctl.jobs.store.egress_policy import EgressPolicy
from runtime.clock import Clock


@dataclass(frozen=True, slots=True)
class JobContext:
    """The dependencies of every mode of a job."""

    clock: Clock
    environ: Mapping[str, str]
    policy: EgressPolicy
    """The addresses that a store may have."""
    addresses: ServerAddresses = field(default_factory=ServerAddresses)
