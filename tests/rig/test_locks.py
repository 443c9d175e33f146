"""The lock between processes: the second waits, says so, and goes on when the first is done."""

import threading
from pathlib import Path

from e2e.rig.locks import hold_lock
from e2e.rig.progress import silent


def test_the_second_waits_and_says_so(tmp_path: Path) -> None:
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


def test_locks_of_two_names_do_not_meet(tmp_path: Path) -> None:
    with (
        hold_lock(tmp_path / "a.lock", silent, "a"),
        hold_lock(tmp_path / "folder" / "b.lock", silent, "b"),
    ):
        assert (tmp_path / "folder" / "b.lock").exists()
