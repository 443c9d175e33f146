"""e2e.harness.audit: what was logged after a mark, wherever in the log the mark is."""

from pathlib import Path

import orjson
import pytest

from e2e.harness.audit import AuditLog


def line(verb: str) -> bytes:
    where = {"requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z", "requestURI": "/"}
    return orjson.dumps({"verb": verb, "user": {}, **where}) + b"\n"


@pytest.mark.parametrize("size", [0, 1, 20, len(line("get")) - 1])
def test_a_line_that_began_before_the_mark_belongs_before_it(tmp_path: Path, size: int) -> None:
    """A long line arrives in pieces, and a mark may fall between two of them."""
    path, late = tmp_path / "audit.log", line("get")
    path.write_bytes(line("create") + late[:size])
    log = AuditLog(path)
    mark = log.mark()
    with path.open("ab") as end:
        end.write(late[size:] + line("patch"))
    verbs = [entry.verb for entry in log.since(mark)]
    assert verbs == (["patch"] if size else ["get", "patch"])


def test_without_a_mark_it_is_the_whole_log_but_for_a_line_in_the_making(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    log = AuditLog(path)
    mark = log.mark()
    path.write_bytes(line("create") + line("get") + line("patch")[:-1])
    assert [entry.verb for entry in log.since(mark)] == ["create", "get"]
