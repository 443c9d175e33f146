"""Packages: nothing is asked of the package archive while everything is there."""

from pathlib import Path

from e2e.rig.packages import ensure, missing


def test_only_packages_of_which_something_is_missing_are_named(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    needed = {
        "sh": "dash",
        str(tmp_path / "there"): "present",
        str(tmp_path / "gone"): "z-absent",
        "surely-no-such-command": "a-absent",
        "surely-no-such-command-either": "a-absent",
    }
    assert missing(needed) == ["a-absent", "z-absent"]


def test_nothing_happens_when_nothing_is_missing() -> None:
    lines: list[str] = []
    ensure({"sh": "dash"}, lines.append)
    assert lines == []
