"""The output of `baoctl` to a full disk, to a closed pipe, and to nothing."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from baoctl.options import Verbs
from e2e.rig.paths import REPOSITORY
from tests.baoctl.command_line import command_line
from tests.baoctl.commands.cluster.bench import world

FULL = "/dev/full"


def call(words: Sequence[str], stdout: int, stderr: int, **env: str) -> tuple[int, str]:
    """Return the exit status and, if it is a pipe, standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "baoctl", *words],
        cwd=REPOSITORY,
        env={**os.environ, "KUBECONFIG": os.devnull, **env},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stderr or ""


def to_full_disk(words: Sequence[str], **env: str) -> tuple[int, str]:
    with open(FULL, "w", encoding="utf-8") as full:
        return call(words, full.fileno(), subprocess.PIPE, **env)


def to_closed_pipe(words: Sequence[str], **env: str) -> tuple[int, str]:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return call(words, writer, subprocess.PIPE, **env)
    finally:
        os.close(writer)


VERBS: Mapping[str, tuple[str, ...]] = {
    "a help": ("--help",),
    "the help of a verb": ("status", "--help"),
    "the help of a group": ("upgrade", "--help"),
    "the version": ("--version",),
    "a list": ("explain", "reasons"),
}


@pytest.mark.parametrize("words", VERBS.values(), ids=VERBS.keys())
def test_a_failed_write_of_an_offline_verb(words: tuple[str, ...]) -> None:
    code, text = to_full_disk(words)
    assert code == 1
    assert text.startswith("Error: standard output: No space left on device: ")
    assert text.count("\n") == 1
    assert to_closed_pipe(words) == (141, "")


@pytest.mark.parametrize("output", ["text", "json"])
@pytest.mark.parametrize("name", [(), ("first",)], ids=["list", "screen"])
async def test_a_failed_write_of_status(name: tuple[str, ...], output: str, tmp_path: Path) -> None:
    """JSON is shorter than the buffer, so only a flush writes it."""
    words = ("status", *name, "-o", output)
    async with command_line(world(), tmp_path) as baoctl:
        env = {"KUBECONFIG": str(baoctl.kubeconfig)}
        code, text = await asyncio.to_thread(to_full_disk, words, **env)
        closed = await asyncio.to_thread(to_closed_pipe, words, **env)
    assert (code, text.count("\n")) == (1, 1), text
    assert "No space left on device" in text
    assert closed == (141, "")


def test_the_status_of_an_error_that_cannot_be_printed() -> None:
    with open(FULL, "w", encoding="utf-8") as full:
        code, _ = call(("status", "--banana"), subprocess.DEVNULL, full.fileno())
    assert code == 2


def with_closed_streams(closed: str, words: Sequence[str], **env: str) -> tuple[int, str, str]:
    """Return the exit status, standard output and standard error."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "baoctl", *words],
        cwd=REPOSITORY,
        env={**os.environ, "KUBECONFIG": os.devnull, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("words", VERBS.values(), ids=VERBS.keys())
def test_a_verb_discards_its_output_if_the_caller_closed_it(words: tuple[str, ...]) -> None:
    assert with_closed_streams(">&-", words) == (0, "", "")
    assert with_closed_streams("<&- >&- 2>&-", words) == (0, "", "")


@pytest.mark.parametrize("words", [("status",), ("status", "first"), ("events", "first")])
async def test_a_verb_with_closed_streams_has_its_exit_status(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    """The socket of its request would get the number of standard output."""
    async with command_line(world(), tmp_path) as baoctl:
        env = {"KUBECONFIG": str(baoctl.kubeconfig)}
        code, output, _ = await asyncio.to_thread(with_closed_streams, "", words, **env)
        closed = await asyncio.to_thread(with_closed_streams, ">&-", words, **env)
    assert output
    assert closed == (code, "", "")


async def test_closed_standard_input_gives_no_answer(tmp_path: Path) -> None:
    async with command_line(world(), tmp_path) as baoctl:
        env = {"KUBECONFIG": str(baoctl.kubeconfig)}
        words = ("hibernate", "first")
        code, _, text = await asyncio.to_thread(with_closed_streams, "<&-", words, **env)
    assert (code, text.splitlines()[-1][:17]) == (1, "Error: no answer:")


def group_with(error: OSError, *, hidden: bool) -> Verbs:
    """A group whose only verb fails."""
    group = Verbs("baoctl")

    @group.command("fail", hidden=hidden)
    def fail() -> None:
        raise error

    return group


def test_a_system_error_is_one_line() -> None:
    errors = {
        OSError(errno.EMFILE, "Too many open files"): "Error: Too many open files; ",
        OSError(errno.ENOSPC, "No space left on device", "/x"): "Error: /x: No space left",
    }
    for error, words in errors.items():
        result = CliRunner().invoke(group_with(error, hidden=False), ["fail"])
        assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
        assert result.stderr.startswith(words)


def test_a_process_of_a_pod_prints_a_traceback() -> None:
    error = OSError(errno.EMFILE, "Too many open files")
    assert CliRunner().invoke(group_with(error, hidden=True), ["fail"]).exception is error
