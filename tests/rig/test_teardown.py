"""What the teardown of a rig removes from folders that all rigs share."""

from pathlib import Path

import pytest

from e2e.rig.teardown import remove_links


def test_only_links_to_files_of_the_rig_are_removed(tmp_path: Path) -> None:
    rig, other, links = (tmp_path / name for name in ("rig", "rig-2", "links"))
    links.mkdir()
    (links / "a.log").symlink_to(rig / "pods/a/0.log")
    (links / "b.log").symlink_to(other / "pods/b/0.log")
    (links / "file.log").write_text("")
    remove_links(links, rig)
    assert sorted(path.name for path in links.iterdir()) == ["b.log", "file.log"]


def test_a_link_may_disappear_meanwhile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rig, links = tmp_path / "rig", tmp_path / "links"
    links.mkdir()
    names = ("a.log", "b.log")
    for name in names:
        (links / name).symlink_to(rig / name)
    readlink = Path.readlink

    def remove_first(path: Path) -> Path:
        if path.name == "a.log":
            path.unlink()
        return readlink(path)

    monkeypatch.setattr(Path, "readlink", remove_first)
    remove_links(links, rig)
    assert list(links.iterdir()) == []
