"""Cases about a history whose beginning is compacted."""

from tests.contract.bench import Bench


async def case_a_watch_from_a_compacted_version_gets_an_error_event(bench: Bench) -> None:
    (event,) = await bench.watched(1, resourceVersion="1")
    assert event.type == "ERROR"
    assert event.object["kind"] == "Status"
    assert event.object["code"] == 410
    assert event.object["reason"] == "Expired"
