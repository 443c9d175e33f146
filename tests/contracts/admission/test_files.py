"""The generated admission files are up to date, and the command checks them."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from baoctl.generate.admission import FOLDER, manifests
from baoctl.generate.main import ADMISSION_PAGE, ROOT, main


def test_the_generated_files_are_up_to_date() -> None:
    for path, text in manifests().items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, path


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with the page and without manifests."""
    page = tmp_path / ADMISSION_PAGE
    page.parent.mkdir(parents=True)
    page.write_text((ROOT / ADMISSION_PAGE).read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


def test_check_fails_and_writes_nothing_and_the_command_writes(copy: Path) -> None:
    runner = CliRunner()
    refused = runner.invoke(main, ["admission", "--check", "--root", str(copy)])
    assert refused.exit_code == 1
    assert "run `python -m baoctl.generate admission`" in refused.output
    assert not (copy / FOLDER).exists()
    assert runner.invoke(main, ["admission", "--root", str(copy)]).exit_code == 0
    assert runner.invoke(main, ["admission", "--check", "--root", str(copy)]).exit_code == 0


def test_a_file_that_is_no_longer_generated_is_deleted(copy: Path) -> None:
    runner = CliRunner()
    runner.invoke(main, ["admission", "--root", str(copy)])
    left = copy / FOLDER / "left.yaml"
    left.write_text("", encoding="utf-8")
    assert runner.invoke(main, ["admission", "--check", "--root", str(copy)]).exit_code == 1
    runner.invoke(main, ["admission", "--root", str(copy)])
    assert not left.exists()
