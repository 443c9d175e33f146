"""Packages: nothing is installed if all files exist."""

from pathlib import Path

from e2e.rig.packages import ensure, missing


def test_only_packages_with_missing_files_are_listed(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    needed = {
        "sh": "dash",
        str(tmp_path / "there"): "present",
        str(tmp_path / "gone"): "z-absent",
        "surely-no-such-command": "a-absent",
        "surely-no-such-command-either": "a-absent",
    }
    assert missing(needed) == ["a-absent", "z-absent"]


def test_nothing_is_installed_if_all_files_exist() -> None:
    lines: list[str] = []
    ensure({"sh": "dash"}, lines.append)
    assert lines == []
