"""A forked process behaves as one of `python -m`: arguments, environment, output, exit status."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.harness.forked_process import ForkedProcesses, Process

PROBE = """
import os, signal, sys
print(__name__, sys.argv[1:], sorted(os.environ), os.getcwd(), flush=True)
print(sorted(int(number) for number in os.listdir("/proc/self/fd")))
if sys.argv[1] == "raise":
    raise ValueError("broken")
if sys.argv[1] == "sleep":
    signal.pause()
sys.exit(int(sys.argv[1]))
"""


def in_this_namespace(*argv: str) -> list[str]:
    return list(argv)


@pytest.fixture
def forks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ForkedProcesses]:
    (tmp_path / "probe.py").write_text(PROBE)
    (tmp_path / "loaded.py").write_text("print('loaded')")
    root = str(Path(__file__).parents[2])
    monkeypatch.setenv("PYTHONPATH", f"{root}:{tmp_path}")
    processes = ForkedProcesses(in_this_namespace, tmp_path, ("loaded",))
    yield processes
    processes.close()


def run(forks: ForkedProcesses, *arguments: str, log: str = "log") -> Process:
    return forks.start(("probe", *arguments), {"ONLY": "this"}, forks.folder / log)


def output(forks: ForkedProcesses, log: str = "log") -> list[str]:
    return (forks.folder / log).read_text().splitlines()


def test_arguments_environment_and_exit_status_are_those_of_a_module(
    forks: ForkedProcesses,
) -> None:
    assert run(forks, "3", "--flag").wait(30.0) == 3
    first, descriptors = output(forks)
    assert first == f"__main__ ['3', '--flag'] ['ONLY'] {forks.folder}"
    # The last one reads the directory. Sockets and logs of the server are not among them.
    assert descriptors == "[0, 1, 2, 3]"


def test_an_exception_is_logged_and_exits_with_1(forks: ForkedProcesses) -> None:
    assert run(forks, "raise").wait(30.0) == 1
    assert output(forks)[-1] == "ValueError: broken"


def test_packages_in_pythonpath_are_found(forks: ForkedProcesses) -> None:
    package = forks.folder / "packages"
    package.mkdir()
    (package / "brought.py").write_text("import sys; sys.exit(4)")
    log = forks.folder / "log"
    assert forks.start(("brought",), {"PYTHONPATH": str(package)}, log).wait(30.0) == 4
    assert forks.start(("brought",), {}, log).wait(30.0) == 1


def test_signals_reach_the_process_and_not_the_server(forks: ForkedProcesses) -> None:
    process, other = run(forks, "sleep"), run(forks, "sleep", log="other")
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.0)
    process.kill()
    assert process.wait(30.0) == -signal.SIGKILL
    assert process.poll() == -signal.SIGKILL
    process.terminate()  # of no effect
    other.terminate()
    assert other.wait(30.0) == -signal.SIGTERM


def test_the_code_is_loaded_once_and_processes_are_killed_with_the_server(
    forks: ForkedProcesses, capfd: pytest.CaptureFixture[str]
) -> None:
    process = run(forks, "sleep")
    assert run(forks, "0", log="other").wait(30.0) == 0
    forks.close()
    assert process.wait(30.0) == -signal.SIGKILL
    assert capfd.readouterr().out == "loaded\n"
