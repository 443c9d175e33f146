"""Text of other components in messages (reliability T17): one line, without control characters.

Messages of kubelets, schedulers, API servers and OpenBao are shown in conditions, events and logs,
and any user who may create a pod can write some of them.
"""

import copy
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from contracts.conditions.condition import MESSAGE_MAX
from runtime.builtin_kinds import POD
from runtime.events import NOTE_LIMIT
from runtime.process import logs
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey
from tests import gen
from tests.gen.api import api_error
from tests.managers.cluster.bench import CONFIG, Bench

PAYLOADS = {
    "a second line": 'fine\n{"level":"error","msg":"forged"}',
    "a carriage return": "fine\rReady True",
    "a color": "\x1b[31mred\x1b[0m",
    "a window title": "\x1b]0;title\x07",
    "NUL and bell": "a\x00b\x07",
    "a line separator": "fine\u2028second\u2029third",
    "right to left": "\u202eevil\u202c",
    "nothing to see": "in\u200bvisible\ufeff",
    "C1": "\x9b31mred",
    "without end": "long " * 2000,
    "markup": '<script>alert(1)</script>{"a": ["b"]}',
}


def texts(value: Any) -> Iterator[str]:
    """Every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


async def visible_texts(bench: Bench) -> list[str]:
    """Every text that users see: the status, and the notes of the events."""
    events = await bench.outside.flush_events()
    return [*texts(bench.cluster["status"]), *(note for _, _, note in events)]


def spoil(bench: Bench, payload: str, *, unscheduled: bool) -> None:
    """Lose the third server, with this text as the reason."""
    key = ObjectKey(gen.NAMESPACE, "x-2")
    pod: Object = copy.deepcopy(bench.api.objects[(POD, key)])
    status = pod["status"]
    if unscheduled:
        condition = {"type": "PodScheduled", "status": "False", "reason": payload}
        status["conditions"] = [{**condition, "message": payload}]
        status["containerStatuses"] = []
    else:
        status["conditions"] = [{"type": "Ready", "status": "False"}]
        waiting = {"reason": payload, "message": payload}
        status["containerStatuses"][0]["state"] = {"waiting": waiting}
        status["containerStatuses"][0]["lastState"] = {
            "terminated": {"exitCode": 1, "reason": payload, "message": payload}
        }
    bench.api.with_objects((POD, pod))


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
@pytest.mark.parametrize("unscheduled", [False, True], ids=["waits", "unscheduled"])
async def test_attack_t17_a_kubelet_gets_one_line(
    bench: Bench, payload: str, unscheduled: bool
) -> None:
    spoil(bench, payload, unscheduled=unscheduled)
    await bench.until_quiet(after=30.0)
    assert bench.condition("Available") == ("False", "NotReady")
    texts = await visible_texts(bench)
    assert all(text.isprintable() for text in texts), [t for t in texts if not t.isprintable()]
    assert max(map(len, texts)) <= MESSAGE_MAX
    assert max(len(text.encode()) for text in texts) <= 4 * NOTE_LIMIT


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
async def test_attack_t17_an_api_server_gets_one_line(bench: Bench, payload: str) -> None:
    bench.api.objects.pop(CONFIG)
    error = api_error(422)
    error.args = (payload,)
    for _ in range(4):
        await bench.outside.clock.advance(30.0)
        bench.api.refuse("apply ConfigMap x-config", error)
        try:
            await bench.turn()
        except type(error):
            continue
    assert all(text.isprintable() for text in await visible_texts(bench))


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
async def test_attack_t17_an_event_is_one_line_within_bounds(bench: Bench, payload: str) -> None:
    await bench.outside.flush_events()
    bench.outside.events.event(bench.cluster, "Warning", "Reason", payload)
    ((_, _, note),) = await bench.outside.flush_events()
    assert note.isprintable()
    assert 0 < len(note.encode()) <= NOTE_LIMIT


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_attack_t17_a_log_line_is_one_line_of_json(payload: str) -> None:
    before, stream = structlog.get_config(), io.BytesIO()
    bench = gen.pod().waiting(payload, payload).facts()
    try:
        logs.configure(ManualClock(), stream=stream)
        structlog.get_logger().warning(payload, why=bench.waiting, pods=[payload])
    finally:
        structlog.configure(**before)
    (line,) = stream.getvalue().decode().splitlines()
    assert line.isprintable()
    assert json.loads(line)["level"] == "warning"
