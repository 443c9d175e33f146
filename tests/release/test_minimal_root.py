"""release.minimal_root: the files that are copied from another root file system."""

from pathlib import Path

import pytest

from release.minimal_root import Root, library_paths, package_records

LDD = """\
\tlinux-vdso.so.1 (0x00007ffd5c3f2000)
\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f1c0a400000)
\tlibtk8.6.so => not found
\t/lib64/ld-linux-x86-64.so.2 (0x00007f1c0a9b5000)
"""
STATUS = """\
Package: zlib1g
Status: install ok installed
Description: compression library
 It follows a text.

Package: bash
Status: install ok installed
Description: shell

Package: libc6
Status: install ok installed
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A Debian root file system: lib is a link, a library has a short name, a module is unused."""
    base = tmp_path / "base"
    (base / "usr/lib/python3/test").mkdir(parents=True)
    (base / "usr/lib/python3/os.py").write_text("os")
    (base / "usr/lib/python3/_tkinter.so").write_text("tk")
    (base / "usr/lib/python3/test/test_os.py").write_text("test")
    (base / "usr/lib/libz.so.1.2").write_text("z")
    (base / "usr/lib/libz.so.1").symlink_to("libz.so.1.2")
    (base / "lib").symlink_to("usr/lib")
    (base / "usr/ssl").mkdir()
    (base / "usr/ssl/openssl.cnf").symlink_to("/etc/ssl/openssl.cnf")
    (base / "etc/ssl").mkdir(parents=True)
    (base / "etc/ssl/openssl.cnf").write_text("conf")
    (base / "etc/up").symlink_to("../usr/lib/python3/os.py")
    return base


@pytest.mark.parametrize(
    ("path", "files", "links"),
    [
        ("/usr/lib/python3", {"usr/lib/python3/os.py"}, {}),
        (
            "/lib/libz.so.1",
            {"usr/lib/libz.so.1.2"},
            {"lib": "usr/lib", "usr/lib/libz.so.1": "libz.so.1.2"},
        ),
        (
            "/usr/ssl",
            {"etc/ssl/openssl.cnf"},
            {"usr/ssl/openssl.cnf": "/etc/ssl/openssl.cnf"},
        ),
        ("/etc/up", {"usr/lib/python3/os.py"}, {"etc/up": "../usr/lib/python3/os.py"}),
        ("/usr/lib/absent", set(), {}),
    ],
)
def test_a_copy_keeps_paths_and_links(
    source: Path, tmp_path: Path, path: str, files: set[str], links: dict[str, str]
) -> None:
    target = tmp_path / "root"
    root = Root(source, target)
    root.copy(path)
    root.copy(path)
    paths = [
        entry for entry in target.rglob("*") if not (entry.is_dir() and not entry.is_symlink())
    ]
    assert {
        str(item.relative_to(target)): str(item.readlink()) for item in paths if item.is_symlink()
    } == links
    assert {str(item.relative_to(target)) for item in paths if not item.is_symlink()} == files


def test_shared_libraries_are_resolved_by_the_loader() -> None:
    assert library_paths(LDD) == [
        "/lib/x86_64-linux-gnu/libz.so.1",
        "/lib64/ld-linux-x86-64.so.2",
    ]


def test_only_the_records_of_the_packages_are_copied() -> None:
    records = dict(package_records(STATUS, {"zlib1g", "libc6", "absent"}))
    assert set(records) == {"zlib1g", "libc6"}
    assert records["zlib1g"].endswith(" It follows a text.\n")
    assert "bash" not in "".join(records.values())
