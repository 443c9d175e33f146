"""An operator that is newer than the CRDs on a real API server.

A typed apply with a field that the schema lacks is refused completely; the operator omits such
fields, and writes them without a restart once the CRD has them.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
import yaml

from baoctl.generate.main import CRD_FILE, ROOT
from contracts.api.cluster.status import ClusterStatus
from contracts.api.group import CLUSTERS
from contracts.api.schema.expected import expected_schemas
from e2e.rig import Rig
from managers.cluster.apply.status_writer import StatusWriter
from managers.context.reads.served_schemas import DOCUMENT, FAMILY, ServedSchemas
from runtime.client.client import Client
from runtime.clock import SystemClock
from runtime.errors import MalformedApply
from runtime.events import EventRecorder, Reporter
from runtime.metrics.metrics import Metrics
from runtime.testing.wait import eventually
from runtime.types import Object, ObjectKey, key_of, resource_version_of
from tests.contracts.api.clusters import cluster_object
from tests.gen.api import StillInformer

STATUS = ClusterStatus(tls_secrets=("mine",), replicas=3, phase="Running")
MISSING = ("OpenBaoCluster.spec.maintenance", "OpenBaoCluster.status.tlsSecrets")


def apply_definition(rig: Rig, definition: dict[str, Any]) -> None:
    text = yaml.safe_dump(definition)
    rig.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=text)


@pytest.fixture
def current() -> dict[str, Any]:
    """The CRD of clusters of this release."""
    read: dict[str, Any] = yaml.safe_load((ROOT / CRD_FILE).read_text(encoding="utf-8"))
    return read


@pytest_asyncio.fixture
async def older(control_plane_with_crds: Rig, current: dict[str, Any]) -> AsyncIterator[Rig]:
    """An API server with the CRD of an earlier release; restored afterwards."""
    before = yaml.safe_load(yaml.safe_dump(current))
    parts = before["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    del parts["status"]["properties"]["tlsSecrets"]
    del parts["spec"]["properties"]["maintenance"]
    apply_definition(control_plane_with_crds, before)
    try:
        yield control_plane_with_crds
    finally:
        apply_definition(control_plane_with_crds, current)


class Operator:
    """The part of an operator that writes the status of one cluster."""

    def __init__(self, client: Client, *, schemas: ServedSchemas | None = None) -> None:
        clock = SystemClock()
        self.client = client
        self.cache = StillInformer(CLUSTERS)
        events = EventRecorder(client, Reporter("openbao.org/operator", "itest"), clock=clock)
        self.writer = StatusWriter(client, self.cache, events, clock, schemas=schemas)

    async def write(self, key: ObjectKey, status: ClusterStatus = STATUS) -> Object:
        """Write the status, and return what is stored."""
        await self.writer.write(await self.client.get(CLUSTERS, key), status)
        return await self.client.get(CLUSTERS, key)


async def create_cluster(client: Client, namespace: str) -> ObjectKey:
    body = {**cluster_object(), "metadata": {"namespace": namespace, "name": "c"}}
    return key_of(await client.create(CLUSTERS, body, field_manager="itest"))


async def await_refusal(operator: Operator, key: ObjectKey) -> MalformedApply:
    """Return the refusal, once the API server validates with the older schema."""
    clock = SystemClock()
    async with asyncio.timeout(20):
        while True:
            try:
                await operator.write(key)
            except MalformedApply as error:
                return error
            await operator.client.json_patch(
                CLUSTERS, key, [{"op": "remove", "path": "/status"}], subresource="status"
            )
            await clock.sleep(0.2)


async def test_a_status_with_a_field_that_the_schema_lacks_is_refused_as_a_whole(
    older: Rig, client: Client, namespace: str
) -> None:
    key = await create_cluster(client, namespace)
    error = await await_refusal(Operator(client), key)
    assert error.code == 500
    assert ".status.tlsSecrets: field not declared in schema" in error.message


async def test_other_fields_are_written_and_the_field_follows_with_the_crd(
    older: Rig, current: dict[str, Any], client: Client, namespace: str
) -> None:
    key = await create_cluster(client, namespace)
    await await_refusal(Operator(client), key)
    metrics = Metrics()
    schemas = ServedSchemas(client, SystemClock(), random.Random(1), metrics, expected_schemas)
    running = asyncio.create_task(schemas.run())
    try:
        await eventually(lambda: schemas.missing_fields == MISSING, goal="the schemas are compared")
        assert metrics.registry.get_sample_value(FAMILY) == len(MISSING)
        operator = Operator(client, schemas=schemas)
        stored = await operator.write(key)
        assert stored["status"]["replicas"] == 3
        assert "tlsSecrets" not in stored["status"]
        again = await operator.write(key)
        assert resource_version_of(again) == resource_version_of(stored)

        apply_definition(older, current)
        await eventually(lambda: schemas.missing_fields == (), goal="the schemas lack no field")
        assert metrics.registry.get_sample_value(FAMILY) == 0
        stored = await operator.write(key, STATUS.model_copy(update={"replicas": 5}))
        assert stored["status"]["tlsSecrets"] == ["mine"]
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_downgraded_crd_is_detected_by_a_refused_write(
    control_plane_with_crds: Rig, current: dict[str, Any], client: Client, namespace: str
) -> None:
    schemas = ServedSchemas(client, SystemClock(), random.Random(1), Metrics(), expected_schemas)
    running = asyncio.create_task(schemas.run())
    key = await create_cluster(client, namespace)
    before = yaml.safe_load(yaml.safe_dump(current))
    parts = before["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    del parts["status"]["properties"]["tlsSecrets"]
    try:
        await schemas.ready()
        # The test before this one may have put the definition right a moment ago.
        await eventually(lambda: schemas.missing_fields == (), goal="the schemas lack no field")
        apply_definition(control_plane_with_crds, before)
        operator = Operator(client, schemas=schemas)
        await await_refusal(operator, key)
        await eventually(
            lambda: schemas.missing_fields == MISSING[1:], goal="the schemas are compared"
        )
        assert (await operator.write(key))["status"]["phase"] == "Running"
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        apply_definition(control_plane_with_crds, current)


async def test_a_newer_crd_is_accepted(
    control_plane_with_crds: Rig, current: dict[str, Any], client: Client
) -> None:
    newer = yaml.safe_load(yaml.safe_dump(current))
    parts = newer["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    parts["status"]["properties"]["ofTheNextRelease"] = {"type": "string"}
    clock = SystemClock()
    try:
        apply_definition(control_plane_with_crds, newer)
        async with asyncio.timeout(30):
            while b"ofTheNextRelease" not in await client.get_raw(DOCUMENT):
                await clock.sleep(0.2)
        schemas = ServedSchemas(client, clock, random.Random(1), Metrics(), expected_schemas)
        running = asyncio.create_task(schemas.run())
        await schemas.ready()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert schemas.missing_fields == ()
    finally:
        apply_definition(control_plane_with_crds, current)
