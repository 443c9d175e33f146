"""Runs one soak test: starts the processes, injects faults, and waits for convergence."""

import asyncio
import random
import socket
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import yaml

from e2e.rig import Rig
from e2e.rig.kube import wait_established
from e2e.rig.paths import REPOSITORY
from e2e.soak.churn import Churn
from e2e.soak.faults import Faults
from e2e.soak.growth import Sample
from runtime.client.client import Client
from runtime.client.credentials import from_kubeconfig
from runtime.clock import SystemClock
from runtime.errors import ApiError, TransportError
from runtime.testing.proxy import FaultProxy

CONVERGE_SECONDS = 240.0
"""A watch that stalled just before the end times out after 100 s; then come retries."""

EXAMPLE = REPOSITORY / "examples" / "website"


class SoakError(Exception):
    """The operator exited, or did not converge."""


class Soak:
    """One soak test, with the data of its report: samples, faults and churn."""

    def __init__(self, rig: Rig, rng: random.Random, folder: Path, every: float) -> None:
        self.samples: list[Sample] = []
        self.converged_after = 0.0
        self._over = False
        self._rig = rig
        self._rng = rng
        self._folder = folder
        self._every = every
        folder.mkdir(parents=True, exist_ok=True)

    async def run(self, seconds: float) -> None:
        """Inject faults for that long, then wait for convergence. Raises SoakError."""
        self._rig.kubectl("apply", "--server-side", "-f", str(EXAMPLE / "crd.yaml"))
        wait_established(self._rig.kubectl, "crd/websites.sites.example.com")
        async with AsyncExitStack() as stack:
            address = urlsplit(self._rig.server)
            proxy = await stack.enter_async_context(
                FaultProxy(address.hostname or "", address.port or 443)
            )
            client = await self._direct()
            stack.push_async_callback(client.close)
            self.faults = Faults(self._rig, proxy, self._rng)
            self.churn = Churn(client, random.Random(self._rng.random()))  # noqa: S311  no keys
            operator = await self._operator(self._kubeconfig(proxy.port))
            reader = asyncio.create_task(self._read_samples(operator))
            stack.push_async_callback(_stop_operator, operator, reader)
            controllers = asyncio.create_task(self.churn.run_controllers())
            stack.push_async_callback(cancel_task, controllers)
            await self._inject(seconds, operator)
            await self._await_convergence(operator)
            # Samples of the shutdown do not count.
            self._over = True

    async def _inject(self, seconds: float, operator: asyncio.subprocess.Process) -> None:
        faults = asyncio.create_task(self.faults.run())
        users = asyncio.create_task(self.churn.run_users())
        end = time.monotonic() + seconds
        try:
            while (left := end - time.monotonic()) > 0:
                await asyncio.wait(
                    [faults, users], timeout=min(left, 1.0), return_when=asyncio.FIRST_COMPLETED
                )
                for task in (faults, users):
                    if task.done():
                        task.result()
                self._assert_alive(operator)
        finally:
            await cancel_task(users)
            await cancel_task(faults)
        # An active fault reverts itself.
        await asyncio.sleep(8.0)
        await asyncio.to_thread(self._rig.wait_ready)

    async def _await_convergence(self, operator: asyncio.subprocess.Process) -> None:
        began = time.monotonic()
        while (reason := await self._difference()) is not None:
            self._assert_alive(operator)
            if time.monotonic() - began > CONVERGE_SECONDS:
                raise SoakError(f"not converged after {CONVERGE_SECONDS:.0f} s: {reason}")
            await asyncio.sleep(0.5)
        self.converged_after = time.monotonic() - began

    async def _difference(self) -> str | None:
        try:
            return await self.churn.difference()
        except (ApiError, TransportError) as error:
            return str(error)

    def _assert_alive(self, operator: asyncio.subprocess.Process) -> None:
        if operator.returncode is not None:
            log = self._folder / "operator.log"
            raise SoakError(f"the operator ended with {operator.returncode}, see {log}")

    async def _direct(self) -> Client:
        clock = SystemClock()
        who = await from_kubeconfig(str(self._rig.kubeconfig), None, clock)
        return Client(who, user_agent="soak", clock=clock, timeout=5.0)

    def _kubeconfig(self, port: int) -> Path:
        config = yaml.safe_load(self._rig.kubeconfig.read_text())
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
        path = self._folder / "kubeconfig"
        path.write_text(yaml.safe_dump(config))
        return path

    async def _operator(self, kubeconfig: Path) -> asyncio.subprocess.Process:
        arguments = (str(kubeconfig), str(_free_port()), str(self._every))
        with (self._folder / "operator.log").open("wb") as log:
            return await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "e2e.soak.operator",
                *arguments,
                cwd=REPOSITORY,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )

    async def _read_samples(self, operator: asyncio.subprocess.Process) -> None:
        if operator.stdout is None:
            raise SoakError("the operator has no output")
        while line := await operator.stdout.readline():
            if self._over:
                continue
            sample: Sample = orjson.loads(line)
            self.samples.append(sample)
            numbers = " ".join(f"{name}={value:.0f}" for name, value in sample.items())
            self._rig.progress(f"{numbers} faults={self.faults.counts.total()}")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


async def cancel_task(task: "asyncio.Task[None]") -> None:
    """Cancel a task and wait for it; its exception is ignored."""
    task.cancel()
    await asyncio.wait([task])


async def _stop_operator(
    operator: asyncio.subprocess.Process, reader: "asyncio.Task[None]"
) -> None:
    if operator.returncode is None:
        operator.terminate()
        try:
            await asyncio.wait_for(operator.wait(), 40.0)
        except TimeoutError:
            operator.kill()
            await operator.wait()
    await asyncio.wait([reader])
