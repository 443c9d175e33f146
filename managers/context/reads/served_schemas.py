"""Checks whether the CRDs on the API server have all fields that this operator writes.

Reads the OpenAPI document of the API server, which every authenticated client may read. The
operator has no right to read its CRDs. Composed by `baoctl.process.wiring`; used by
`managers.cluster.observe.observer` and `managers.cluster.apply.status_writer`.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import structlog

from contracts.api.group import GROUP, VERSION
from contracts.api.schema.served import Schema, missing_paths, served_kinds
from runtime.client.client import Client
from runtime.clock import Clock, Deadline
from runtime.errors import ApiError, Transient
from runtime.limits.nesting import UnreadableError, read_json
from runtime.metrics.metrics import Metrics
from runtime.types import Object

log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

FAMILY = "openbao_operator_schema_fields_lacking"
MEANING = "Fields and values of this operator's API that the CRDs on the API server lack."
DOCUMENT: Final = f"/openapi/v3/apis/{GROUP}/{VERSION}"
DOCUMENT_BYTES_MAX = 16 * 1024 * 1024
"""Maximum size of the document; that of this release has 750 kB."""
VALUES_MAX = 1_000_000
RECHECK = 300.0
"""Seconds between two reads of the document."""
RECHECK_MISSING = 15.0
"""The same while fields are missing: a user is about to apply the CRDs."""
PAUSE = 5.0
"""Minimum seconds between two reads, even if many writes fail."""
JITTER = 0.2
SHOWN = 10

Expected = Callable[[], Mapping[str, Schema]]
"""Reads the schemas of this operator by kind."""


class SchemaHandler(Protocol):
    """Handles changes of the result."""

    def on_add(self, obj: Object, initial: bool, /) -> None:
        """Handle a change; `obj` has only a name."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of one comparison."""

    missing_fields: tuple[str, ...] = ()
    """Paths that start with the kind, such as OpenBaoCluster.status.unseal."""
    statuses: Mapping[str, Schema] = field(default_factory=dict)
    """The schema on the API server by kind, for kinds whose status lacks fields."""


def compare(expected: Mapping[str, Schema], document: Any) -> Comparison:
    """Compare schemas with an OpenAPI document; ignores kinds that the document does not have."""
    served = served_kinds(document)
    paths: list[str] = []
    statuses: dict[str, Schema] = {}
    for kind, schema in expected.items():
        if kind not in served:
            continue
        kind_paths = [*missing_paths(schema, served[kind])]
        paths += (f"{kind}.{path}" for path in kind_paths)
        status = (served[kind].get("properties") or {}).get("status")
        if status and any(path.startswith("status") for path in kind_paths):
            statuses[kind] = status
    return Comparison(tuple(sorted(paths)), statuses)


class ServedSchemas:
    """The last comparison; no field is missing until the first read.

    Also a source of events: it calls its handlers when the result changes.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        rng: random.Random,
        metrics: Metrics,
        expected: Expected,
    ) -> None:
        self._client = client
        self._clock = clock
        self._rng = rng
        self._expected = expected
        self._gauge = metrics.gauge(FAMILY, MEANING)
        self._handlers: tuple[SchemaHandler, ...] = ()
        self._checked = asyncio.Event()
        self._invalidated = asyncio.Event()
        self._digest = b""
        self._error = ""
        self._result = Comparison()

    @property
    def missing_fields(self) -> tuple[str, ...]:
        """Sorted paths that the API server lacks; each starts with the kind."""
        return self._result.missing_fields

    def status_of(self, kind: str) -> Schema | None:
        """Return the schema of a status on the API server; None if it has all our fields."""
        return self._result.statuses.get(kind)

    def invalidate(self) -> None:
        """Read again soon: the API server rejected a write that fits the last result."""
        self._invalidated.set()

    def add_handler(self, handler: SchemaHandler) -> None:
        """Call the handler whenever the result changes."""
        self._handlers = (*self._handlers, handler)

    async def wait_synced(self, timeout: float) -> None:  # noqa: ASYNC109 - of the Source protocol
        """Return immediately: there is nothing to list."""

    async def run(self) -> None:
        """Compare periodically, and earlier after `invalidate`; never returns."""
        while True:
            answered = await self._check()
            self._checked.set()
            complete = answered and not self.missing_fields
            wait = (RECHECK if complete else RECHECK_MISSING) * (1 + self._rng.uniform(0, JITTER))
            await self._clock.sleep(PAUSE)
            try:
                async with Deadline(self._clock, wait - PAUSE):
                    await self._invalidated.wait()
            except TimeoutError:
                continue

    async def ready(self) -> None:
        """Return after the first attempt, so that the first status matches the schema."""
        await self._checked.wait()

    async def _check(self) -> bool:
        """Compare once; return False if the API server could not be reached."""
        self._invalidated.clear()
        try:
            body = await self._client.get_raw(DOCUMENT, most=DOCUMENT_BYTES_MAX)
            # The digest, not the revision in the index of /openapi/v3: the index lags behind the
            # document by a second, and an outdated document under the new revision would be used
            # forever.
            digest = hashlib.sha256(body).digest()
            if digest != self._digest:
                self._update(await asyncio.to_thread(self._compare, body))
        except (ApiError, Transient, UnreadableError, LookupError, TypeError) as error:
            self._report_error(f"{type(error).__name__}: {error}")
            return not isinstance(error, Transient)
        self._digest, self._error = digest, ""
        return True

    def _compare(self, body: bytes) -> Comparison:
        return compare(self._expected(), read_json(body, values=VALUES_MAX))

    def _report_error(self, text: str) -> None:
        if text != self._error:
            log.warning("schemas of the API server could not be read", path=DOCUMENT, error=text)
        self._error = text

    def _update(self, result: Comparison) -> None:
        before, self._result = self._result, result
        self._gauge.set(len(result.missing_fields))
        if result.missing_fields == before.missing_fields:
            return
        if result.missing_fields:
            log.error(
                "the CustomResourceDefinitions on the API server are older than this operator, "
                "which does not write the missing fields",
                missing=len(result.missing_fields),
                fields=result.missing_fields[:SHOWN],
                next_step="apply the CustomResourceDefinitions of this release",
            )
        else:
            log.info("the CustomResourceDefinitions have all fields of this operator")
        for handler in self._handlers:
            handler.on_add({"metadata": {"name": GROUP}}, False)
