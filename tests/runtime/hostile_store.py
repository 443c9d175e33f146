"""A program that mirrors many objects of the largest size that an API server stores.

Prints the increase of the resident memory in MiB: the peak, and at the end. test_hostile_memory
runs it in a new process each time, because a process does not return its memory.
"""

import asyncio
import gc
import random
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from runtime.cache.informer import Informer, InformerOptions
from runtime.cache.selection import Selection
from runtime.cache.watch import INITIAL_EVENTS_END
from runtime.client.client import Client
from runtime.client.transport import AnswerTooLarge, HttpRequest, HttpResponse
from runtime.clock import SystemClock
from runtime.errors import BadRequest, StatusInfo
from runtime.limits.nesting import shallow
from runtime.metrics.metrics import Metrics
from runtime.testing.api_server.wire import AnonymousCredentials
from runtime.testing.scripted import event
from runtime.types import Resource

SIZE = 1_400_000
MIB = 1 << 20
THINGS = Resource("example.com", "v1", "Thing", "things", namespaced=True)

_META = b'{"name":"thing-%d","namespace":"shop","uid":"u-%d","resourceVersion":"%d"%s}'


def _thing(number: int, rest: bytes, meta: bytes = b"") -> bytes:
    metadata = _META % (number, number, number + 2, meta)
    head = b'{"apiVersion":"example.com/v1","kind":"Thing","metadata":' + metadata
    return head + (b"," + rest if rest else b"") + b"}"


def _fill(piece: bytes) -> bytes:
    return piece * (SIZE // len(piece))


def _text(number: int) -> bytes:
    return _thing(number, b'"spec":{"text":"%d%s"}' % (number, b"x" * SIZE))


def _values(number: int) -> bytes:
    return _thing(number, b'"spec":{"list":[%s{}]}' % _fill(b"{},"))


def _annotation(number: int) -> bytes:
    notes = b"%d" % number + b"x" * 260_000
    return _thing(number, b'"spec":{}', b',"annotations":{"note":"%s"}' % notes)


def _labels(number: int) -> bytes:
    some = b",".join(b'"l-%d-%d":"%s"' % (number, at, b"x" * 60) for at in range(SIZE // 75))
    return _thing(number, b'"spec":{}', b',"labels":{%s}' % some)


def _data(number: int) -> bytes:
    return _thing(number, b'"data":{"%d":"%s"}' % (number, b"x" * MIB))


def _status(number: int) -> bytes:
    return _thing(number, b'"spec":{},"status":{"text":"%d%s"}' % (number, b"x" * MIB))


KINDS: dict[str, Callable[[int], bytes]] = {
    "text": _text,
    "values": _values,
    "annotation": _annotation,
    "labels": _labels,
    "data": _data,
    "status": _status,
}


class Hostile:
    """A server that creates its objects when it sends them; `streams`: with streamed lists."""

    def __init__(self, make: Callable[[int], bytes], count: int, *, streams: bool) -> None:
        self._make = make
        self._count = count
        self._streams = streams

    async def request(self, call: HttpRequest, /) -> HttpResponse:
        start = int(call.query.get("continue", "0"))
        end = min(self._count, start + (int(call.query.get("limit", "0")) or self._count))
        room = call.most
        if room is not None and (end - start) * len(self._make(start)) > room:
            raise AnswerTooLarge("too large")
        token = b"" if end == self._count else b'"continue":"%d",' % end
        items = b",".join(map(self._make, range(start, end)))
        metadata = b'"metadata":{%s"resourceVersion":"9000"}' % token
        return HttpResponse(200, b'{"kind":"ThingList",%s,"items":[%s]}' % (metadata, items))

    def stream(self, call: HttpRequest, /) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._opened(call)

    @asynccontextmanager
    async def _opened(self, call: HttpRequest) -> AsyncIterator[AsyncIterator[bytes]]:
        if "sendInitialEvents" in call.query and not self._streams:
            raise BadRequest(StatusInfo(code=400, message="no such list"))
        yield self._lines(first="sendInitialEvents" in call.query)

    async def _lines(self, *, first: bool) -> AsyncIterator[bytes]:
        for number in range(self._count if first else 0):
            yield b'{"type":"ADDED","object":' + self._make(number) + b"}\n"
        if first:
            metadata = {"resourceVersion": "9000", "annotations": {INITIAL_EVENTS_END: "true"}}
            yield event("BOOKMARK", {"kind": "Thing", "metadata": metadata})
        await asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        """Nothing to close."""


def resident(name: str) -> int:
    """Resident memory in KiB: VmRSS for now, VmHWM for the peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


async def mirror(kind: str, count: int, *, streams: bool) -> tuple[int, int, int]:
    """The number of objects at the end, the MiB at the peak, and at the end."""
    clock = SystemClock()
    wire = Hostile(KINDS[kind], count, streams=streams)
    informer = Informer(
        Client.over(wire, AnonymousCredentials(), clock=clock),
        Selection(THINGS, transform=shallow),
        clock=clock,
        rng=random.Random(1),
        metrics=Metrics(),
        options=InformerOptions(watch_list=True),
    )
    gc.collect()
    before = resident("VmRSS")
    running = asyncio.create_task(informer.run())
    await informer.wait_synced(300.0)
    highest, now = resident("VmHWM"), resident("VmRSS")
    held = len(informer.list())
    running.cancel()
    await asyncio.wait([running])
    return held, (highest - before) >> 10, (now - before) >> 10


if __name__ == "__main__":
    print(*asyncio.run(mirror(sys.argv[1], int(sys.argv[2]), streams=sys.argv[3] == "stream")))  # noqa: T201 - its answer
