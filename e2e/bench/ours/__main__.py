"""python -m e2e.bench.ours."""

import asyncio

from e2e.bench.ours import intake, work
from e2e.bench.ours.process import Order, Process, write_line
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
    order = Order.read(MODES)
    process = Process(order)
    try:
        write_line(await MODES[order.mode](process, order))
    finally:
        await process.end()


asyncio.run(main())
