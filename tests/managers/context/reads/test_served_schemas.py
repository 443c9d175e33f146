"""managers.context.reads.served_schemas: one comparison, reported once."""

import asyncio
import copy
import random
from typing import Any

from contracts.api.group import GROUP, VERSION
from contracts.api.schema.expected import expected_schemas
from contracts.api.schema.served import Schema
from managers.context.reads.served_schemas import (
    DOCUMENT,
    FAMILY,
    PAUSE,
    RECHECK,
    RECHECK_MISSING,
    ServedSchemas,
    compare,
)
from runtime.metrics.metrics import Metrics
from runtime.testing.clock import ManualClock
from runtime.testing.wait import eventually
from runtime.types import Object
from tests import gen
from tests.gen.api import FakeApi, api_error

OURS = expected_schemas()
KIND = "OpenBaoCluster"


def document(*without: str) -> dict[str, Any]:
    """The OpenAPI document of our CRDs without these fields of a status."""
    schemas: dict[str, Any] = {}
    for kind, schema in copy.deepcopy(OURS).items():
        mark = {"group": GROUP, "version": VERSION, "kind": kind}
        schemas[kind] = {**schema, "x-kubernetes-group-version-kind": [mark]}
    for name in without:
        del schemas[KIND]["properties"]["status"]["properties"][name]
    return {"components": {"schemas": schemas}}


class Handler:
    """Counts the results that differ from the last."""

    def __init__(self) -> None:
        self.notifications = 0

    def on_add(self, obj: Object, initial: bool, /) -> None:
        self.notifications += 1


class SchemaProcess:
    """A process that compares, with a clock of the test."""

    def __init__(self, *without: str) -> None:
        self.api, self.clock, self.metrics = FakeApi(), ManualClock(), Metrics()
        self.publish(*without)
        self.handler = Handler()
        self.comparisons = 0
        self.schemas = ServedSchemas(
            self.api, self.clock, random.Random(1), self.metrics, self.expected
        )
        self.schemas.add_handler(self.handler)
        self.task: asyncio.Task[None] | None = None

    def expected(self) -> dict[str, Schema]:
        self.comparisons += 1
        return OURS

    def publish(self, *without: str) -> None:
        self.api.raw[DOCUMENT] = document(*without)

    async def __aenter__(self) -> "SchemaProcess":
        self.task = asyncio.create_task(self.schemas.run())
        await self.schemas.ready()
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self.task is not None
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def until(self, missing_fields: tuple[str, ...]) -> None:
        """Poll for a result: the comparison runs in a thread."""
        await eventually(
            lambda: self.schemas.missing_fields == missing_fields, goal=str(missing_fields)
        )

    @property
    def documents(self) -> int:
        """How often the document was read."""
        return sum(call.name == DOCUMENT for call in self.api.calls)

    @property
    def gauge(self) -> float | None:
        return self.metrics.registry.get_sample_value(FAMILY)


async def test_crds_of_this_release_lack_nothing() -> None:
    async with SchemaProcess() as comparing:
        assert comparing.schemas.missing_fields == ()
        assert comparing.schemas.status_of(KIND) is None
        assert (comparing.gauge, comparing.handler.notifications) == (0, 0)


async def test_older_crds_are_reported_once_with_the_fields() -> None:
    async with SchemaProcess("tlsSecrets", "unseal") as comparing:
        missing_fields = (f"{KIND}.status.tlsSecrets", f"{KIND}.status.unseal")
        assert comparing.schemas.missing_fields == missing_fields
        assert "tlsSecrets" not in gen.present(comparing.schemas.status_of(KIND))["properties"]
        assert (comparing.gauge, comparing.handler.notifications) == (2, 1)


def test_a_kind_that_is_not_served_hides_no_field_of_the_next() -> None:
    served = document("tlsSecrets")
    comparison = compare({"Unserved": {}, **OURS}, served)
    assert comparison.missing_fields == (f"{KIND}.status.tlsSecrets",)


async def test_new_crds_are_detected_soon() -> None:
    async with SchemaProcess("tlsSecrets") as comparing:
        comparing.publish()
        await comparing.clock.advance(PAUSE)
        await comparing.clock.advance(2 * RECHECK_MISSING)
        await comparing.until(())
        assert comparing.schemas.status_of(KIND) is None
        assert (comparing.gauge, comparing.handler.notifications) == (0, 2)


async def test_an_unchanged_document_is_compared_once() -> None:
    async with SchemaProcess() as comparing:
        for _ in range(3):
            await comparing.clock.advance(PAUSE)
            await comparing.clock.advance(2 * RECHECK)
        assert comparing.documents > 2
        assert comparing.comparisons == 1


async def test_a_rejected_write_triggers_a_read_of_the_document() -> None:
    """The CRDs are downgraded and upgraded again while the operator runs."""
    async with SchemaProcess() as comparing:
        for without in (("tlsSecrets",), (), ("tlsSecrets",)):
            await comparing.clock.advance(PAUSE)
            comparing.publish(*without)
            comparing.schemas.invalidate()
            await comparing.until(tuple(f"{KIND}.status.{name}" for name in without))


async def test_an_api_server_that_publishes_nothing_changes_nothing() -> None:
    comparing = SchemaProcess("tlsSecrets")
    comparing.api.raw.clear()
    async with comparing:
        assert comparing.schemas.missing_fields == ()


async def test_a_refusal_leaves_the_last_result() -> None:
    async with SchemaProcess("tlsSecrets") as comparing:
        comparing.api.refuse(f"get path {DOCUMENT}", api_error(403))
        await comparing.clock.advance(PAUSE)
        await comparing.clock.advance(2 * RECHECK_MISSING)
        assert comparing.schemas.missing_fields == (f"{KIND}.status.tlsSecrets",)
