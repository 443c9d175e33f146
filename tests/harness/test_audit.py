"""e2e.harness.audit: the entries after a mark, at any position of the log."""

from pathlib import Path

import orjson
import pytest

from e2e.harness.audit import AuditLog


def line(verb: str) -> bytes:
    where = {"requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z", "requestURI": "/"}
    return orjson.dumps({"verb": verb, "user": {}, **where}) + b"\n"


@pytest.mark.parametrize("size", [0, 1, 20, len(line("get")) - 1])
def test_a_line_that_began_before_the_mark_is_not_after_it(tmp_path: Path, size: int) -> None:
    """A long line is written in parts, and a mark may be between two of them."""
    path, late = tmp_path / "audit.log", line("get")
    path.write_bytes(line("create") + late[:size])
    log = AuditLog(path)
    mark = log.mark()
    with path.open("ab") as end:
        end.write(late[size:] + line("patch"))
    verbs = [entry.verb for entry in log.since(mark)]
    assert verbs == (["patch"] if size else ["get", "patch"])


def test_the_whole_log_is_read_except_an_incomplete_line(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    log = AuditLog(path)
    mark = log.mark()
    path.write_bytes(line("create") + line("get") + line("patch")[:-1])
    assert [entry.verb for entry in log.since(mark)] == ["create", "get"]
