"""The components that all parts of a process share."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from baoctl.settings import Settings
from runtime.cache.informers import InformerSet
from runtime.cache.interning import sharing
from runtime.client.client import Client
from runtime.client.listing import Shape
from runtime.clock import Clock
from runtime.controller.loop_slice import LoopSlice
from runtime.events import EventRecorder
from runtime.leader.shard_elector import Election
from runtime.metrics.metrics import Metrics
from runtime.process.manager import Runnable


@dataclass(frozen=True, slots=True)
class Parts:
    """Built once by `baoctl.process.parts.build_parts`."""

    settings: Settings
    clock: Clock
    rng: random.Random
    metrics: Metrics
    client: Client
    lease_client: Client
    elector: Election | None
    informers: InformerSet
    events: EventRecorder
    loop_slice: LoopSlice
    runnables: list[Runnable] = field(default_factory=list)
    """Additional runnables, which the manager starts with the caches."""
    share: Shape = field(default_factory=sharing)
    """The transform of all caches with many objects: those of a fleet have many equal parts."""
