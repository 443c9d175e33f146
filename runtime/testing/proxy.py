"""A TCP proxy in front of a real server that injects network faults.

Uses asyncio streams and runtime.clock. Bytes are forwarded unchanged, TLS included: a client only
needs another port. Called by tests with real servers.
"""

import asyncio
import socket
import struct
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from runtime.clock import Clock, SystemClock, yield_to_loop

CHUNK = 1 << 16

_RST_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER with a time of 0: the kernel sends a reset instead of a FIN."""


@dataclass(eq=False, slots=True)
class _Link:
    """A client connection and its server connection; passed counts the bytes to the client."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    dead: bool = False
    ended: bool = False
    passed: int = 0
    pumps: list["asyncio.Task[None]"] = field(default_factory=list)

    def reset(self) -> None:
        for writer in (self.client, self.server):
            sock = writer.get_extra_info("socket")
            if sock is not None and not writer.transport.is_closing():
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RST_ON_CLOSE)
            writer.transport.abort()

    def close(self) -> None:
        """Close cleanly: data that was sent still arrives."""
        for writer in (self.client, self.server):
            writer.close()


class FaultProxy:
    """Listens on loopback while the context is entered, and forwards to (host, port).

    accepted counts all connections, open the current ones.
    """

    def __init__(self, host: str, port: int, *, clock: Clock | None = None) -> None:
        self._upstream = (host, port)
        self._clock: Clock = clock or SystemClock()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._seconds = 0.0
        self._limit: int | None = None
        self._rate: float | None = None
        self._refusing = False
        self._links: dict[_Link, None] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0
        self.accepted = 0

    @property
    def open(self) -> int:
        """The number of connections, including the half-open ones."""
        return len(self._links)

    def pause(self) -> None:
        """Forward nothing, in either direction, until `resume`; nothing is lost."""
        self._flowing.clear()

    def resume(self) -> None:
        """End a pause."""
        self._flowing.set()

    def reset(self) -> None:
        """Break all current connections with a TCP reset on both sides."""
        for link in tuple(self._links):
            link.reset()

    def half_open(self) -> None:
        """Drop all data of the current connections from now on, and keep them open."""
        for link in self._links:
            link.dead = True

    def refuse(self, refusing: bool = True) -> None:
        """Break new connections as soon as they are accepted; False ends it."""
        self._refusing = refusing

    def delay(self, seconds: float) -> None:
        """Delay each piece by that many seconds; 0 ends it."""
        self._seconds = seconds

    def truncate_after(self, count: int | None) -> None:
        """Break each connection after that many bytes to the client; None ends it. Open connections
        count the bytes that they have already forwarded."""
        self._limit = count

    def throttle(self, bytes_per_second: float | None) -> None:
        """Limit the rate of each connection and direction; None ends it."""
        self._rate = bytes_per_second

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.close()
        tasks = [*self._serving]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        # An aborted transport closes its socket in the next iteration of the loop.
        await yield_to_loop()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        task = asyncio.current_task()
        if task is not None:
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        link: _Link | None = None
        try:
            if self._refusing:
                return
            back, forth = await asyncio.open_connection(*self._upstream)
            link = _Link(writer, forth)
            self._links[link] = None
            await self._relay(link, reader, back)
        except (OSError, asyncio.CancelledError):
            # The server has stopped; or this proxy ends, which asyncio.streams would log as an
            # error.
            return
        finally:
            if link is None:
                writer.transport.abort()
            else:
                del self._links[link]
                if not link.ended:
                    link.reset()

    async def _relay(
        self, link: _Link, client: asyncio.StreamReader, server: asyncio.StreamReader
    ) -> None:
        link.pumps = [
            asyncio.create_task(self._pump(link, client, link.server)),
            asyncio.create_task(self._pump(link, server, link.client)),
        ]
        try:
            await asyncio.wait(link.pumps, return_when=asyncio.FIRST_COMPLETED)
            if link.dead:
                await asyncio.get_running_loop().create_future()
            if self._limit is None:
                link.close()
                link.ended = True
        finally:
            for pump in link.pumps:
                pump.cancel()
            await asyncio.wait(link.pumps)

    async def _pump(
        self, link: _Link, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        towards_client = writer is link.client
        try:
            while data := await reader.read(CHUNK):
                await self._flowing.wait()
                if self._seconds:
                    await self._clock.sleep(self._seconds)
                if link.dead:
                    continue
                if towards_client:
                    data = self._cut(link, data)
                writer.write(data)
                await writer.drain()
                if towards_client and self._limit is not None and link.passed >= self._limit:
                    return
                if self._rate:
                    await self._clock.sleep(len(data) / self._rate)
        except OSError:
            return

    def _cut(self, link: _Link, data: bytes) -> bytes:
        if self._limit is not None:
            data = data[: max(self._limit - link.passed, 0)]
        link.passed += len(data)
        return data
