"""An installed store is reused, and an incomplete installation is repeated."""

from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.rig.paths import Cache
from e2e.rig.progress import silent
from e2e.rig.stores import ensure_installed


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    (tmp_path / "lock.txt").write_text("one==1\n")
    return tmp_path / "lock.txt"


def record_fill(folders: "list[Path]", *, fails: bool = False) -> "Callable[[Path], None]":
    def fill(folder: Path) -> None:
        folders.append(folder)
        folder.mkdir(parents=True)
        (folder / "part").touch()
        if fails:
            raise OSError("no network")

    return fill


def test_a_store_is_installed_once_per_lock_file(tmp_path: Path, lock: Path) -> None:
    cache, folders = Cache(tmp_path / "cache"), list[Path]()
    first = ensure_installed(cache, "x", (lock,), record_fill(folders), silent)
    assert ensure_installed(cache, "x", (lock,), record_fill(folders), silent) == first
    lock.write_text("one==2\n")
    second = ensure_installed(cache, "x", (lock,), record_fill(folders), silent)
    assert folders == [first, second]
    assert first != second


def test_an_incomplete_installation_is_repeated(tmp_path: Path, lock: Path) -> None:
    cache, folders = Cache(tmp_path / "cache"), list[Path]()
    with pytest.raises(OSError, match="no network"):
        ensure_installed(cache, "x", (lock,), record_fill(folders, fails=True), silent)
    paths = ensure_installed(cache, "x", (lock,), record_fill(folders), silent)
    assert (paths / "part").exists()
    assert len(folders) == 2
