"""Collects the root file system of the operator image: Python, its libraries, certificates.

Runs during the build of the image (Dockerfile), on the base image, with only the standard library.
The image does not contain the rest of the base, such as a shell and a package manager: the operator
does not need it, and an attacker in a pod would.
"""

import compileall
import fnmatch
import py_compile
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

FILES = (
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/usr/lib/ssl/cert.pem",
    "/usr/lib/ssl/certs",
    "/usr/lib/ssl/openssl.cnf",
    "/etc/ld.so.cache",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/protocols",
    "/etc/services",
)
UNUSED = (
    "__pycache__",
    "config-*",
    "dist-packages",
    "ensurepip",
    "idlelib",
    "lib2to3",
    "pydoc_data",
    "site-packages",
    "test",
    "tests",
    "tkinter",
    "turtledemo",
)
"""Folders of the standard library that the operator does not need."""
UNUSED_MODULES = (
    "_curses*",
    "_dbm*",
    "_gdbm*",
    "_sqlite3*",
    "_test*",
    "_tkinter*",
    "nis.*",
    "readline.*",
)
"""Compiled modules that the operator does not need; their libraries would be copied too."""
ACCOUNTS = {
    "etc/passwd": "root:x:0:0::/:/sbin/nologin\nnonroot:x:65532:65532::/tmp:/sbin/nologin\n",
    "etc/group": "root:x:0:\nnonroot:x:65532:\n",
}
_LIBRARY = re.compile(r"^\s*(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Root:
    """A root file system with parts of another one.

    Args:
        source: the other root file system, absolute.
        target: the folder of the new one.
    """

    source: Path
    target: Path

    def copy(self, path: str) -> None:
        """Copy a file, or a folder with its content, to the same absolute path.

        Symbolic links in the path are copied as links, and their targets are copied too.
        """
        item = Path(path)
        link = next((p for p in (*reversed(item.parents), item) if self._at(p).is_symlink()), None)
        if link is not None:
            self._link(link)
            self.copy(str(self._resolve(link) / item.relative_to(link)))
        elif self._at(item).is_dir():
            self._into(item).mkdir(parents=True, exist_ok=True)
            for entry in sorted(self._at(item).iterdir()):
                if not _is_unused(entry):
                    self.copy(str(item / entry.name))
        elif self._at(item).exists() and not self._into(item).exists():
            self._into(item).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self._at(item), self._into(item))

    def _at(self, path: Path) -> Path:
        return self.source / path.relative_to("/")

    def _into(self, path: Path) -> Path:
        return self.target / path.relative_to("/")

    def _resolve(self, link: Path) -> Path:
        """Return the direct target of a link as an absolute path without dots."""
        parts: list[str] = []
        for name in (link.parent / self._at(link).readlink()).parts[1:]:
            if name == "..":
                parts.pop()
            else:
                parts.append(name)
        return Path("/", *parts)

    def _link(self, link: Path) -> None:
        if not self._into(link).is_symlink():
            self._into(link).parent.mkdir(parents=True, exist_ok=True)
            self._into(link).symlink_to(self._at(link).readlink())


def _is_unused(path: Path) -> bool:
    patterns = UNUSED if path.is_dir() else UNUSED_MODULES
    return any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns)


def library_paths(listing: str) -> list[str]:
    """Return the absolute paths in the output of `ldd`, without libraries that it did not find."""
    return _LIBRARY.findall(listing)


def libraries(objects: Iterable[Path]) -> set[str]:
    """Return the shared libraries that these executables and compiled modules load."""
    result: set[str] = set()
    for path in objects:
        argv = ["/usr/bin/ldd", str(path)]
        listing = subprocess.run(argv, capture_output=True, text=True, check=False)
        result.update(library_paths(listing.stdout))
    return result


def package_records(status: str, packages: set[str]) -> Iterator[tuple[str, str]]:
    """Yield name and record of those packages, from the status file of dpkg."""
    for record in status.split("\n\n"):
        name = record.removeprefix("Package: ").split("\n", 1)[0]
        if name in packages:
            yield name, record.strip() + "\n"


def _owners(paths: Iterable[str]) -> set[str]:
    """Return the packages that own these files."""
    argv = ["/usr/bin/dpkg-query", "--search", *sorted(paths)]
    listing = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    # "libc6:amd64: /lib/libc.so.6"; the first package if there are several.
    return {re.split("[:,]", line, maxsplit=1)[0] for line in listing.splitlines()}


def main(target: Path, site: Path) -> None:
    """Create the root file system below `target`, for Python and the wheels in `site`."""
    root = Root(Path("/"), target)
    standard = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    for path in (sys.executable, *standard, *FILES):
        root.copy(path)
    copies = [target / folder.removeprefix("/") for folder in standard]
    modules = [path for folder in (*copies, site) for path in folder.rglob("*.so")]
    needed = libraries([Path(sys.executable), *modules])
    for path in sorted(needed):
        if not path.startswith(f"{site}/"):
            root.copy(path)
    for name, text in ACCOUNTS.items():
        (target / name).write_text(text)
    _record_packages(target)
    (target / "tmp").mkdir(exist_ok=True)
    (target / "tmp").chmod(0o1777)
    for folder in copies:
        compileall.compile_dir(
            folder,
            quiet=2,
            stripdir=str(target),
            prependdir="/",
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )


def _record_packages(target: Path) -> None:
    """Write a dpkg record for each package that has a file in the image, for image scanners."""
    files = {f"/{path.relative_to(target)}" for path in target.rglob("*") if path.is_file()}
    unmerged = {path.removeprefix("/usr") for path in files if path.startswith("/usr/lib")}
    status = Path("/var/lib/dpkg/status").read_text(encoding="utf-8")
    folder = target / "var/lib/dpkg/status.d"
    folder.mkdir(parents=True)
    for name, record in package_records(status, _owners(files | unmerged)):
        (folder / name).write_text(record, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
