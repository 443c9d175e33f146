"""baoctl.reload: it waits for the files, signals the server of its own pod, and ends."""

import base64
import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from baoctl import reload as program
from baoctl.reload import DONE, LATE, NO_SERVER, ExpectedFile, certificate_digest, content_digest
from managers.certs.x509 import make_authority, read
from runtime.clock import SystemClock

OLD, NEW = b"old", b"new"


@pytest.fixture
def signaled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The recorded signals; none is sent."""
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    return sent


def processes(folder: Path, **names: int) -> Path:
    """A /proc with processes of these names."""
    for name, number in names.items():
        (folder / str(number)).mkdir(parents=True)
        (folder / str(number) / "comm").write_text(f"{name}\n", encoding="utf-8")
    (folder / "self").mkdir(parents=True, exist_ok=True)
    return folder


def expected_file(path: Path, content: bytes) -> ExpectedFile:
    return ExpectedFile(path, hashlib.sha256(content).hexdigest(), content_digest)


def test_the_server_is_signaled_after_the_files_have_changed(
    tmp_path: Path, signaled: list[tuple[int, int]]
) -> None:
    file = tmp_path / "config.hcl"
    file.write_bytes(OLD)
    seen = []

    def pause(seconds: float) -> None:
        seen.append(list(signaled))
        if len(seen) == 3:
            file.write_bytes(NEW)

    place = processes(tmp_path / "proc", bao=1, python3=17)
    status = program.reload([expected_file(file, NEW)], 60, processes=place, pause=pause)
    assert status == DONE
    assert seen == [[], [], []]
    assert signaled == [(1, signal.SIGHUP)]


def test_missing_files_are_reported_after_the_timeout(
    tmp_path: Path, signaled: list[tuple[int, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    place = processes(tmp_path / "proc", bao=1)
    waited: list[float] = []
    files = [expected_file(tmp_path / "no-such-file", NEW)]
    assert program.reload(files, 5, processes=place, pause=waited.append) == LATE
    assert sum(waited) == pytest.approx(5, abs=1)
    assert "no-such-file" in capsys.readouterr().out
    assert signaled == []


def test_only_the_server_is_signaled(tmp_path: Path, signaled: list[tuple[int, int]]) -> None:
    place = processes(tmp_path / "proc", pause=1, baoctl=2)
    assert program.reload([], 5, processes=place) == NO_SERVER
    assert signaled == []


def test_the_process_with_the_lowest_pid_is_signaled(
    tmp_path: Path, signaled: list[tuple[int, int]]
) -> None:
    (tmp_path / "proc" / "30").mkdir(parents=True)
    (tmp_path / "proc" / "30" / "comm").write_text("bao\n", encoding="utf-8")
    place = processes(tmp_path / "proc", bao=7)
    assert program.reload([], 5, processes=place) == DONE
    assert signaled == [(7, signal.SIGHUP)]


def test_a_server_of_another_user_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(pid: int, number: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "kill", refuse)
    place = processes(tmp_path / "proc", bao=1)
    assert program.reload([], 5, processes=place) == NO_SERVER
    assert "Operation not permitted" in capsys.readouterr().out


def test_the_fingerprint_of_a_certificate_equals_that_of_the_operator() -> None:
    pair = make_authority("x", SystemClock().now())
    assert certificate_digest(pair.certificate) == read(pair, None).fingerprint
    # In a chain, the first certificate is that of the server.
    other = make_authority("y", SystemClock().now()).certificate
    assert certificate_digest(pair.certificate + other) == certificate_digest(pair.certificate)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"-----BEGIN CERTIFICATE-----",
        b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----",
    ],
)
def test_a_truncated_certificate_has_no_fingerprint(content: bytes) -> None:
    assert certificate_digest(content) == ""


@pytest.mark.parametrize("argument", ["file", "=", "file=abc", "=" + "0" * 64])
def test_invalid_arguments_are_refused(argument: str) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main(["--file", argument])
    assert ended.value.code == 2


def test_the_arguments_of_the_plan_are_valid(
    tmp_path: Path, signaled: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, str]] = []

    def note(files: list[ExpectedFile], seconds: float) -> int:
        seen.extend((str(file.path), file.digest) for file in files)
        return DONE

    monkeypatch.setattr(program, "reload", note)
    digest = base64.b16encode(bytes(32)).decode().lower()
    arguments = ["--asked", "1", "--file", f"/a=b={digest}", "--certificate", f"/c={digest}"]
    assert program.main(arguments) == DONE
    assert seen == [("/a=b", digest), ("/c", digest)]


def test_only_the_standard_library_is_imported(tmp_path: Path) -> None:
    """It runs in the pod of a server, with as little code as possible."""
    code = (
        "import sys; import baoctl.reload; "
        "print([m for m in sys.modules if m.split('.')[0] in "
        "('click', 'aiohttp', 'pydantic', 'structlog', 'runtime', 'managers', 'contracts')])"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(program.__file__).parents[1])},
    )
    assert done.stdout.strip() == "[]"
