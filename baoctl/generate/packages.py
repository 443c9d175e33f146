"""Renders the tree of packages for docs/architecture.md.

Uses the standard library. Called by baoctl.generate.main. Pure.
"""

import textwrap
from collections.abc import Iterable, Mapping


def package_tree(paths: Iterable[str]) -> str:
    """Return an indented tree of all packages: sub-packages first, then modules."""
    packages: dict[str, set[str]] = {}
    for path in paths:
        package, _, name = path.rpartition("/")
        packages.setdefault(package, set()).add(name.removesuffix(".py"))
        while "/" in package:
            package, _, name = package.rpartition("/")
            packages.setdefault(package, set()).add(f"{name}/")
    return "\n".join(_package_text(package, packages) for package in sorted(packages))


def _package_text(package: str, packages: Mapping[str, set[str]]) -> str:
    entries = sorted(packages[package] - {"__init__", "__main__"}, key=_folders_first)
    return f"{package}/\n" + "".join(f"{line}\n" for line in _wrap(entries))


def _folders_first(entry: str) -> tuple[bool, str]:
    return not entry.endswith("/"), entry


def _wrap(entries: Iterable[str]) -> list[str]:
    return textwrap.wrap(
        "  ".join(entries), 100, initial_indent="    ", subsequent_indent="    ",
        break_on_hyphens=False,
    )  # fmt: skip
