"""Answers scrapes of Prometheus without blocking the event loop for long.

Uses aiohttp, prometheus_client and the clock. Called by runtime.process.health. An answer takes
0.02 s of CPU time with a hundred clusters, and 0.2 s with a thousand: a third of it to read the
caches, and the rest to write text.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from aiohttp import hdrs, web
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import choose_encoder

from runtime.clock import yield_to_loop

COMPRESSION_IN_THREAD: Final = 64 * 1024
"""Answers of this size in bytes are compressed in a thread."""


class MetricsEndpoint:
    """Serves a registry at GET /metrics, as text or OpenMetrics, compressed if that is accepted.

    `name[]` in the query (repeatable) selects samples by name.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    async def answer(self, request: web.Request) -> web.Response:
        """Answer one scrape."""
        families = await self._collect(request.query.getall("name[]", []))
        accept = ",".join(request.headers.getall(hdrs.ACCEPT, []))
        encode, content_type = choose_encoder(accept)
        response = web.Response(
            body=await asyncio.to_thread(encode, _Collected(families)),
            headers={hdrs.CONTENT_TYPE: content_type},
            zlib_executor_size=COMPRESSION_IN_THREAD,
        )
        response.enable_compression()
        return response

    async def _collect(self, names: Sequence[str]) -> list[Metric]:
        """Read each metric family in its own iteration; the caches may change in between."""
        registry = self._registry.restricted_registry(names) if names else self._registry
        families = []
        for family in registry.collect():
            families.append(family)
            await yield_to_loop()
        return families


class _Collected:
    """The collected metric families, as the registry that an encoder expects."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Sequence[Metric]:
        return self._families
