"""The checksums of a release."""

import subprocess
from pathlib import Path

from release.checksums import FILE, checksums


def test_sha256sum_accepts_the_checksums_until_a_file_changes(tmp_path: Path) -> None:
    for name in ("b", "a", FILE):
        (tmp_path / name).write_text(name)
    (tmp_path / FILE).write_text(text := checksums(tmp_path))
    assert [line.split()[1] for line in text.splitlines()] == ["a", "b"]

    check = ["sha256sum", "--check", "--quiet", FILE]
    subprocess.run(check, cwd=tmp_path, check=True)
    (tmp_path / "a").write_text("other")
    assert subprocess.run(check, cwd=tmp_path, check=False, capture_output=True).returncode == 1
