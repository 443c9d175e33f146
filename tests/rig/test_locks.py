"""The lock between processes: the second waits, reports it, and continues after the first."""

import threading
from pathlib import Path

from e2e.rig.locks import hold_lock
from e2e.rig.progress import silent


def test_the_second_process_reports_that_it_waits(tmp_path: Path) -> None:
    lines: list[str] = []
    order: list[str] = []
    event = threading.Event()

    def note(line: str) -> None:
        lines.append(line)
        event.set()

    def second() -> None:
        with hold_lock(tmp_path / "a.lock", note, "building x"):
            order.append("second")

    thread = threading.Thread(target=second)
    with hold_lock(tmp_path / "a.lock", silent, "building x"):
        thread.start()
        assert event.wait(10.0)
        order.append("first")
    thread.join(10.0)
    assert order == ["first", "second"]
    assert "building x" in lines[0]


def test_locks_with_different_names_are_independent(tmp_path: Path) -> None:
    with (
        hold_lock(tmp_path / "a.lock", silent, "a"),
        hold_lock(tmp_path / "folder" / "b.lock", silent, "b"),
    ):
        assert (tmp_path / "folder" / "b.lock").exists()
