"""`baoctl run`: the operator process, a standby until it is elected."""

from __future__ import annotations

import gc
from dataclasses import replace
from functools import partial

from baoctl.process.operator_image import with_own_image
from baoctl.process.parts import Build, build_manager, build_parts
from baoctl.process.platform import with_platform
from baoctl.process.preflight import kinds_of_leader
from baoctl.settings import Settings
from runtime.clock import Clock

# Decoded objects have no reference cycles. With the default thresholds the garbage collector scans
# all of them repeatedly while a large list arrives, and blocks the event loop for 200 ms. With
# these thresholds it still frees the cycles of closed TLS connections, and each collection is short
# enough for the event loop: generation 1 scans 50,000 objects, all of which may be in caches. With
# 15,000, more cycles reach the old generation, which is not collected: 542 MB instead of 333 MB
# after a restart of 300 clusters.
GC_THRESHOLDS = (10_000, 5, 1_000)


async def run(settings: Settings, clock: Clock) -> None:
    """Run the operator until it gets a signal. Raises RunnableCrashed, LeaseLost."""
    gc.set_threshold(*GC_THRESHOLDS)
    parts = await build_parts(settings, clock)
    try:
        settings = await with_platform(settings, parts.client)
        parts = replace(parts, settings=await with_own_image(settings, parts.client))

        def load() -> Build:
            from baoctl.process.wiring import build_controllers

            if parts.settings.runs_datacenters:
                import baoctl.controllers.datacenter  # noqa: F401 - not later, in the event loop
            return partial(build_controllers, parts)

        await build_manager(parts, load, kinds_of_leader(settings)).run()
    finally:
        await parts.client.close()
        await parts.lease_client.close()
