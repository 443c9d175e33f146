"""The content of kubectl-bao, and its search for the modules of the running Python."""

import re
import subprocess
import sys
from pathlib import Path

from release.cli_archive import PREAMBLE, split


def tree(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_files_that_differ_between_python_versions_are_separate(tmp_path: Path) -> None:
    same = {"pure/a.py": "a", "single.py": "s", "fast/b.py": "b"}
    trees = {
        "3.11": tree(tmp_path / "3.11", {**same, "fast/b.cpython-311.so": "old"}),
        "3.12": tree(tmp_path / "3.12", {**same, "fast/b.cpython-312.so": "new", "added.py": "x"}),
    }
    site = tmp_path / "site"
    split(trees, site)
    relatives = {str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()}
    assert relatives == {
        "pure/a.py",
        "single.py",
        "abi/3.11/fast/b.py",
        "abi/3.11/fast/b.cpython-311.so",
        "abi/3.12/fast/b.py",
        "abi/3.12/fast/b.cpython-312.so",
        "abi/3.12/added.py",
    }


def run_script(site: Path, program: str) -> "subprocess.CompletedProcess[str]":
    """Run the script as shiv does, and a program after it."""
    code = (
        "import runpy, sys; from pathlib import Path; "
        "runpy.run_path(sys.argv[1], {'site_packages': Path(sys.argv[2])}, '__main__'); "
        f"{program}"
    )
    argv = [sys.executable, "-c", code, str(PREAMBLE), str(site)]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_modules_for_the_running_python_take_precedence(tmp_path: Path) -> None:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    tree(tmp_path, {f"abi/{version}/chosen.py": "", "abi/2.7/chosen.py": ""})
    done = run_script(tmp_path, "import chosen; print(chosen.__file__)")
    assert done.stdout == f"{tmp_path}/abi/{version}/chosen.py\n"


def test_an_unsupported_python_is_refused_in_one_line(tmp_path: Path) -> None:
    tree(tmp_path, {"abi/2.7/chosen.py": ""})
    done = run_script(tmp_path, "print('started')")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"kubectl-bao: .* Python 2\.7, and this is Python 3\..*\n", done.stderr)
