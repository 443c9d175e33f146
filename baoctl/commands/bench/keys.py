"""Creates and removes the keys of a measurement, in an engine of its own or in an existing one.

Uses managers.bao.client. Called by baoctl.commands.bench.stages. It removes only what the run has
created: an engine with a random name, or keys below a random prefix.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from baoctl.commands.api_client import RequestError
from baoctl.commands.bench.engine import (
    Engine,
    engines_of_other_runs,
    existing_engine,
    missing_capabilities,
    own_engine,
)
from baoctl.commands.bench.workload import Worker
from baoctl.commands.login.connection import raise_if_cancelled, response_error, run_to_completion
from baoctl.exit_codes import ExitCode
from managers.bao.client import BaoError, Denied
from runtime.clock import Clock, Deadline

READY_SECONDS: Final = 15.0
"""Maximum time for which a new engine of version 2 refuses requests."""
REMOVAL_SECONDS: Final = 90.0
_POLL_SECONDS: Final = 0.1
_PAUSE_SECONDS: Final = 1.0
_NOT_READY: Final = 400
_MOUNTS: Final = "sys/internal/ui/mounts"


async def engine_of(worker: Worker, mount: str | None, run: str) -> Engine:
    """Return the engine to use, not yet mounted. Raises RequestError if a capability is missing."""
    engine = own_engine(run) if mount is None else await _engine_at(worker, mount, run)
    paths = [path for path, _ in engine.required()]
    try:
        capabilities = await worker.bao.capabilities(worker.address, worker.token, paths)
    except Denied as error:
        raise RequestError(f"{error}; check the token", ExitCode.REFUSED) from None
    except BaoError as error:
        raise response_error(error) from None
    missing = missing_capabilities(engine, capabilities)
    if not missing:
        return engine
    if engine.is_own:
        step = (
            "grant it, or use --mount with a key-value engine that the token may use: the keys "
            "are written below a prefix of this run"
        )
    else:
        step = "grant it, or use --mount with another engine"
    raise RequestError(f"the token lacks {'; '.join(missing)}; {step}", ExitCode.REFUSED)


async def _engine_at(worker: Worker, mount: str, run: str) -> Engine:
    path = f"{_MOUNTS}/{mount}"
    try:
        settings = await worker.bao.read(worker.address, worker.token, path)
    except Denied as error:
        raise RequestError(
            f"{error}; use --mount with an existing engine that the token may use",
            ExitCode.REFUSED,
        ) from None
    except BaoError as error:
        raise response_error(error) from None
    engine = existing_engine(mount, run, settings)
    if engine is None:
        raise RequestError(
            f"{mount} is not a key-value engine; use --mount with another one", ExitCode.REFUSED
        )
    return engine


async def other_runs(worker: Worker) -> tuple[str, ...]:
    """Return the engines of other runs, active or killed, that the token may list."""
    try:
        return engines_of_other_runs(await worker.bao.read(worker.address, worker.token, _MOUNTS))
    except (BaoError, Denied):
        # The caller only prints a note about them.
        return ()


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one run, in their engine."""

    engine: Engine
    count: int
    """Number of keys of each worker."""
    clock: Clock

    async def mount(self, worker: Worker) -> None:
        """Mount the engine of the run, if it has one.

        If the request fails, it removes the engine again, and raises RequestError.
        """
        if not self.engine.is_own:
            return
        request = worker.bao.write(
            worker.address, worker.token, self.engine.mount_path, self.engine.settings()
        )
        try:
            # Complete it even if the task is cancelled: the caller then removes the engine.
            await run_to_completion(request)
        except Denied as error:
            raise RequestError(
                f"{error}; use --mount with an existing engine", ExitCode.REFUSED
            ) from None
        except BaoError as error:
            leftover = await self.remove((worker,))
            raise RequestError(f"{error}; {leftover or 'nothing was mounted: try again'}") from None

    async def fill(self, workers: Sequence[Worker], value: str) -> None:
        """Write each key once. Raises RequestError."""
        try:
            async with Deadline(self.clock, READY_SECONDS):
                await self._until_writable(workers[0], value)
            await asyncio.gather(*(self._fill(worker, value) for worker in workers))
        except TimeoutError:
            raise RequestError(
                f"{self.engine.mount} refused all writes for {READY_SECONDS:g} s; try again"
            ) from None
        except (BaoError, Denied) as error:
            raise RequestError(f"{error}; see kubectl bao doctor") from None

    async def _until_writable(self, worker: Worker, value: str) -> None:
        while True:
            try:
                await self._write(worker, worker.key(0, self.count), value)
            except Denied as error:
                if error.code != _NOT_READY or not self.engine.is_own:
                    raise
                await self.clock.sleep(_POLL_SECONDS)
            else:
                return

    async def _fill(self, worker: Worker, value: str) -> None:
        for key in worker.keys(self.count):
            await self._write(worker, key, value)

    async def _write(self, worker: Worker, key: str, value: str) -> None:
        path = self.engine.content_path(key)
        payload = self.engine.payload(value)
        # Complete it even if the task is cancelled: no write may follow the removal of the key.
        await run_to_completion(worker.bao.write(worker.address, worker.token, path, payload))
        raise_if_cancelled()

    async def remove(self, workers: Sequence[Worker]) -> str:
        """Remove the engine or the keys of the run within REMOVAL_SECONDS.

        Return a message if they could not be removed; "" on success.
        """
        reasons: list[str] = []
        try:
            async with Deadline(self.clock, REMOVAL_SECONDS):
                if self.engine.is_own:
                    await self._delete(workers[0], self.engine.mount_path, reasons)
                else:
                    await asyncio.gather(
                        *(self._delete_keys(worker, reasons) for worker in workers)
                    )
        except TimeoutError:
            return self._leftover_text(
                reasons[-1] if reasons else f"not done in {REMOVAL_SECONDS:g} s"
            )
        except Denied as error:
            return self._leftover_text(str(error))
        return ""

    async def _delete_keys(self, worker: Worker, reasons: list[str]) -> None:
        for key in worker.keys(self.count):
            await self._delete(worker, self.engine.removal_path(key), reasons)

    async def _delete(self, worker: Worker, path: str, reasons: list[str]) -> None:
        """Retry a deletion until it succeeds. The deletion of a missing path also succeeds.

        A server returns 400 while an earlier attempt, whose response was lost, still runs.
        """
        while True:
            try:
                await worker.bao.delete(worker.address, worker.token, path)
            except Denied as error:
                if error.code != _NOT_READY:
                    raise
                reasons[:] = [str(error)]
            except BaoError as error:
                reasons[:] = [str(error)]
            else:
                return
            await self.clock.sleep(_PAUSE_SECONDS)

    def _leftover_text(self, reason: str) -> str:
        engine = self.engine
        if engine.is_own:
            step = f"run bao secrets disable {engine.mount}"
            return f"The engine {engine.mount} was not removed: {reason}; {step}"
        return f"Keys below {engine.mount}/{engine.folder} were not removed: {reason}; delete them"
