"""Adds the compiled modules of the running Python to its path.

Run by shiv after unpacking and before the start of kubectl-bao (release.cli_archive). shiv defines
`site_packages`. Uses the standard library: nothing else can be imported yet.
"""

# ruff: noqa: T201  it prints to the terminal of a user

import sys
from pathlib import Path

site_packages: Path = globals()["site_packages"]

_modules = site_packages / "abi" / f"{sys.version_info[0]}.{sys.version_info[1]}"
if not _modules.is_dir():
    _known = ", ".join(sorted(path.name for path in (site_packages / "abi").iterdir()))
    print(
        f"kubectl-bao: this file contains compiled modules for Python {_known}, and this is Python "
        f"{sys.version_info[0]}.{sys.version_info[1]}; start it with a supported version: "
        "python3.11 kubectl-bao",
        file=sys.stderr,
    )
    sys.exit(1)
sys.path.insert(0, str(_modules))
