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

# Decoded objects hold no cycles, and many are made at once: with the defaults the collector walks
# all of them again and again while a large list comes in, and holds the event loop for 200 ms. Of
# new objects it frees what ended TLS connections left, in parts small enough for the event loop: a
# collection of survivors walks 50,000 objects, of which all may be in caches by then.
GC_THRESHOLDS = (10_000, 5, 1_000)


async def run(settings: Settings, clock: Clock) -> None:
    """Run an operator until a signal, a crash, or the loss of its lease (which raise)."""
    gc.set_threshold(*GC_THRESHOLDS)
    parts = await build_parts(settings, clock)
    try:
        settings = await with_platform(settings, parts.client)
        parts = replace(parts, settings=await with_own_image(settings, parts.client))

        def load() -> Build:
            from baoctl.process.wiring import build_controllers

            return partial(build_controllers, parts)

        await build_manager(parts, load, kinds_of_leader(settings)).run()
    finally:
        await parts.client.close()
        await parts.lease_client.close()
