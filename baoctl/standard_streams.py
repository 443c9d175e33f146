"""Ends a verb whose output cannot be written, for example to a full disk or a closed pipe.

Uses click. Called by baoctl.options.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, TextIO

import click

from baoctl.exit_codes import ExitCode

INTERRUPTED: Final = 128 + signal.SIGINT
"""The exit status that shells report after SIGINT."""
CLOSED_PIPE: Final = 128 + signal.SIGPIPE
"""The exit status that shells report after SIGPIPE; kubectl has the same."""

_FULL: Final = (errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC)


@contextmanager
def output_errors() -> Iterator[None]:
    """Flush standard output after the block, and end the verb if it cannot be written.

    A closed pipe is not reported: `head` closes it when it has read enough.
    """
    try:
        try:
            yield
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        _discard(sys.stdout)
        _discard(sys.stderr)
        raise click.exceptions.Exit(CLOSED_PIPE) from None
    except OSError as error:
        if error.errno not in _FULL or not _is_unwritable(sys.stdout):
            raise
        _discard(sys.stdout)
        print_error(
            f"standard output: {error.strerror or error}: the output is incomplete; free space, or "
            "redirect it to another place"
        )
        raise click.exceptions.Exit(ExitCode.ERROR) from None


def print_error(text: str) -> None:
    """Print an error as one line, if standard error can be written."""
    try:
        click.echo(f"Error: {text}", err=True)
    except OSError:
        _discard(sys.stderr)


def _is_unwritable(stream: TextIO | None) -> bool:
    """Return whether a stream cannot be written: an OSError of a write does not name its file."""
    try:
        if stream is not None:
            stream.write("\n")
            stream.flush()
    except OSError:
        return True
    return False


def _discard(stream: TextIO | None) -> None:
    """Discard the buffer of a stream; otherwise Python prints an error when it exits."""
    if stream is None:
        return
    with suppress(OSError, ValueError):
        number = stream.fileno()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, number)
        os.close(null)
