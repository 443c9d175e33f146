"""One run of one of the two programs."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import orjson

Results = Mapping[str, float]
Writes = Callable[[], Awaitable[None]]

SECONDS = 600.0


class BenchError(Exception):
    """A program failed."""


@dataclass(frozen=True, slots=True)
class Program:
    """A command line without mode and flags."""

    name: str
    command: tuple[str, ...]

    async def run(self, mode: str, flags: Mapping[str, object], writes: Writes | None) -> Results:
        """Run one mode; send the writes when the program is ready.

        Raises BenchError if it fails, TimeoutError if it does not end in time.
        """
        flags_given = [f"-{name}={value}" for name, value in flags.items() if value is not False]
        flags_given = [flag.removesuffix("=True") for flag in flags_given]
        process = await asyncio.create_subprocess_exec(
            *self.command, f"-mode={mode}", *flags_given, stdout=asyncio.subprocess.PIPE
        )
        try:
            async with asyncio.timeout(SECONDS):
                line = await _line(process)
                if writes is not None and "ready" in line:
                    await writes()
                    line = await _line(process)
                if await process.wait() != 0 or not line:
                    raise BenchError(f"{self.name} -mode={mode} {' '.join(flags_given)} failed")
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return line


async def _line(process: asyncio.subprocess.Process) -> Results:
    if process.stdout is None:
        raise BenchError("no output")
    text = await process.stdout.readline()
    results: Results = orjson.loads(text) if text else {}
    return results
