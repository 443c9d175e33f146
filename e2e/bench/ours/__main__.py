"""python -m e2e.bench.ours."""

import asyncio

from e2e.bench.ours import intake, work
from e2e.bench.ours.process import Flags, Process, write_line
from runtime.clock import SystemClock
from runtime.process.logs import configure

MODES = {
    "sync": intake.sync,
    "events": intake.events,
    "latency": intake.latency,
    "noop": work.noop,
    "passes": work.passes,
    "apply": work.applies,
}


async def main() -> None:
    configure(SystemClock(), level="warning")
    flags = Flags.read(MODES)
    process = Process(flags)
    try:
        write_line(await MODES[flags.mode](process, flags))
    finally:
        await process.end()


asyncio.run(main())
