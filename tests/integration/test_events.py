"""Events at the validation limits of a real API server."""

import pytest
from structlog.testing import capture_logs

from runtime.builtin_kinds import CONFIG_MAP, EVENT, NAMESPACE
from runtime.client.client import Client
from runtime.clock import SystemClock
from runtime.events import NOTE_LIMIT, EventRecorder, Reporter
from runtime.types import Object, ObjectKey, uid_of

LONGEST_NAME = ("x" * 63 + ".") * 3 + "x" * 61


async def record(client: Client, obj: Object, note: str, reason: str = "Opened") -> None:
    recorder = EventRecorder(
        client, Reporter("shop.example/operator", "operator-0" * 20), clock=SystemClock()
    )
    recorder.event(obj, "Warning", reason, note, action="A" * 200)
    recorder.stop()
    with capture_logs() as logs:
        await recorder.run()
    assert logs == []


@pytest.mark.parametrize("name", ["web", "a.b", "web-0", LONGEST_NAME], ids=len)
async def test_an_event_about_an_object_of_any_name_is_stored(
    name: str, client: Client, namespace: str
) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": name},
    }
    obj = await client.create(CONFIG_MAP, body, field_manager="itest")
    await record(client, obj, "a" + "東" * 1000)
    (event,) = (await client.list(EVENT, namespace)).items
    assert event["regarding"]["name"] == name
    assert event["regarding"]["uid"] == uid_of(obj)
    assert event["type"] == "Warning"
    assert NOTE_LIMIT - 3 < len(event["note"].encode()) <= NOTE_LIMIT


async def test_an_event_about_a_cluster_scoped_object_is_stored(
    client: Client, namespace: str
) -> None:
    obj = await client.get(NAMESPACE, ObjectKey("", namespace))
    await record(client, obj, "seen")
    events = (await client.list(EVENT, "default")).items
    assert [event["note"] for event in events if event["regarding"]["uid"] == uid_of(obj)] == [
        "seen"
    ]
