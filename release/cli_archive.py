"""Builds kubectl-bao as one file: a zipapp with the code and all of its dependencies.

Some dependencies are compiled: there is one file per platform, with one folder of compiled modules
per version of Python. Runs uv, which can install for other platforms, and shiv. Called by
release.main.
"""

import filecmp
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS: Mapping[str, str] = {
    "linux-amd64": "x86_64-manylinux_2_28",
    "linux-arm64": "aarch64-manylinux_2_28",
    "darwin-arm64": "aarch64-apple-darwin",
}
"""Our name of a platform, and its name in uv."""
CODE = ("baoctl", "contracts", "managers", "runtime")
LOCK = Path("requirements") / "cli.txt"
PREAMBLE = Path(__file__).with_name("choose_abi.py")
_ABI = "abi"
# Metadata of an installer, with paths and times of this machine.
_NOTES = ("bin", "**/RECORD", "**/INSTALLER", "**/REQUESTED", "**/direct_url.json", ".lock")


@dataclass(frozen=True, slots=True)
class Tools:
    """The folder with the locked tools of a release."""

    folder: Path

    def run(self, name: str, *args: str | Path) -> None:
        """Run a tool. Raises subprocess.CalledProcessError."""
        # shiv and uv would write this time into their files; other machines may not set it.
        environment = {k: v for k, v in os.environ.items() if k != "SOURCE_DATE_EPOCH"}
        subprocess.run([self.folder / name, *args], check=True, env=environment)


def cli_archive(root: Path, work: Path, platform: str, tools: Tools, target: Path) -> None:
    """Build the file of one platform, in a folder below `work`."""
    folder = work / platform
    shutil.rmtree(folder, ignore_errors=True)
    trees = {python: folder / python for python in PYTHONS}
    for python, tree in trees.items():
        _install(root, PLATFORMS[platform], python, tree, tools)
    site = folder / "site-packages"
    split(trees, site)
    for name in CODE:
        shutil.copytree(root / name, site / name, ignore=shutil.ignore_patterns("__pycache__"))
    _set_modes(site)
    options = ["--compressed", "--reproducible", "--entry-point", "baoctl.__main__.main"]
    options += ["--python", "/usr/bin/env python3", "--preamble", str(PREAMBLE)]
    tools.run("shiv", *options, "--site-packages", site, "--output-file", target)
    shutil.rmtree(folder)


def _install(root: Path, platform: str, python: str, tree: Path, tools: Tools) -> None:
    what = ["--python-platform", platform, "--python-version", python, "--only-binary", ":all:"]
    exact = ["--require-hashes", "--no-deps", "--link-mode", "copy", "--quiet"]
    place = ["--target", str(tree), "--requirement", str(root / LOCK)]
    tools.run("uv", "pip", "install", *what, *exact, *place)
    for pattern in _NOTES:
        for path in [*tree.glob(pattern)]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def split(trees: Mapping[str, Path], site: Path) -> None:
    """Move entries that are equal in all trees to `site`, and the rest to `site/abi/<name>`."""
    names = sorted({path.name for tree in trees.values() for path in tree.iterdir()})
    for name in names:
        places = [tree / name for tree in trees.values()]
        if _are_equal(places):
            site.mkdir(parents=True, exist_ok=True)
            places[0].rename(site / name)
            continue
        for python, tree in trees.items():
            if (tree / name).exists():
                target = site / _ABI / python / name
                target.parent.mkdir(parents=True, exist_ok=True)
                (tree / name).rename(target)


def _are_equal(places: Sequence[Path]) -> bool:
    if not all(place.exists() for place in places):
        return False
    first, *others = (dict(_contents(place)) for place in places)
    return all(
        first.keys() == other.keys()
        and all(filecmp.cmp(first[name], other[name], shallow=False) for name in first)
        for other in others
    )


def _contents(place: Path) -> Iterator[tuple[str, Path]]:
    paths = place.rglob("*") if place.is_dir() else [place]
    yield from ((str(path.relative_to(place)), path) for path in paths if path.is_file())


def _set_modes(folder: Path) -> None:
    """Set the modes of files, independent of the umask of the builder."""
    for path in folder.rglob("*"):
        if path.is_file():
            path.chmod(0o755 if path.suffix == ".so" else 0o644)
