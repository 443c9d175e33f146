"""`baoctl datacenter status`: reads a datacenter once or repeatedly, and prints changes.

Uses baoctl.commands.datacenter.status to read, and baoctl.commands.datacenter.tree to print. Called
by baoctl.verbs.datacenter and baoctl.commands.datacenter.get.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, Protocol

import click

from baoctl.commands.api_client import RequestError, Session, run_in_session
from baoctl.commands.cluster.pause import seconds_of
from baoctl.commands.datacenter.status import fetch
from baoctl.commands.datacenter.tree import as_text, color_text, plain
from baoctl.commands.datacenter.view import View, as_json
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from baoctl.yaml_text import json_as_yaml
from contracts.conditions.message import clean_message
from contracts.rfc3339 import rfc3339
from runtime.client.client import Client
from runtime.clock import Clock, Deadline
from runtime.errors import Transient

Output = Literal["text", "json", "yaml"]
PERIOD: Final = 2.0
"""Seconds between two reads."""
CLEAR: Final = "\033[H\033[2J"
_SEPARATORS: Final = {"json": "", "yaml": "---\n"}
"""The separator of two documents."""
_ASCII: Final = str.maketrans("├└│─", "|`|-")


@dataclass(frozen=True, slots=True)
class ReadSchedule:
    """How often to read: once, or until a condition ends it."""

    repeat: bool = False
    until_ready: bool = False
    seconds: float | None = None
    """Maximum duration; None for no limit."""


class ResultObserver(Protocol):
    """Receives the result of each read."""

    def view(self, view: View) -> None:
        """Receive a view."""
        ...

    def failure(self, error: Transient) -> None:
        """Receive the error of a read that failed."""
        ...


class Screen:
    """Prints each view that differs from the previous one."""

    def __init__(
        self,
        clock: Clock,
        echo: Callable[[str], None],
        *,
        output: Output = "text",
        verbose: bool = False,
        terminal: bool = False,
    ) -> None:
        """`echo` prints a text unchanged. On a terminal a tree replaces the previous one."""
        self._clock = clock
        self._echo = echo
        self._output = output
        self._verbose = verbose
        self._terminal = terminal
        self._view: View | None = None
        self._text = ""
        self._has_output = False

    def view(self, view: View) -> None:
        """Print a view if it differs from the previous one."""
        text = self._render(view)
        # A new time to the next attempt is printed on a terminal, but not in a log.
        if view == self._view and (text == self._text or not self._redraws):
            return
        separator = self._separator() if self._has_output else ""
        self._has_output, self._view, self._text = True, view, text
        self._echo(separator + text)

    def failure(self, error: Transient) -> None:
        """Report once that a read failed. The next view is printed even if it is unchanged."""
        text = f"read failed, retrying: {clean_message(str(error))}\n"
        if text != self._text:
            self._view, self._text = None, text
            click.echo(text, nl=False, err=True)

    @property
    def _redraws(self) -> bool:
        return self._terminal and self._output == "text"

    def _render(self, view: View) -> str:
        return render_view(
            view,
            self._clock.now(),
            output=self._output,
            verbose=self._verbose,
            terminal=self._terminal,
        )

    def _separator(self) -> str:
        if self._output != "text":
            return _SEPARATORS[self._output]
        return CLEAR if self._redraws else f"--- {rfc3339(self._clock.now())}\n"


def render_view(view: View, now: datetime, *, output: Output, verbose: bool, terminal: bool) -> str:
    """Return a view as JSON or YAML, or as a tree, which has colors on a terminal."""
    if output != "text":
        return as_json(view) if output == "json" else json_as_yaml(as_json(view))
    return as_text(view, now, verbose=verbose, colorize=color_text if terminal else plain)


async def follow(
    client: Client, clock: Clock, name: str, options: ReadSchedule, observer: ResultObserver
) -> View:
    """Read a datacenter repeatedly and report each view; return the last one.

    If the first read fails, it raises the error of `fetch`; later it raises only errors that are
    not Transient. It also raises RequestError if the time runs out before the first response.
    """
    last: View | None = None
    try:
        async with nullcontext() if options.seconds is None else Deadline(clock, options.seconds):
            while True:
                try:
                    last = await fetch(client, name)
                except Transient as error:
                    if last is None:
                        raise
                    observer.failure(error)
                else:
                    observer.view(last)
                    if not options.repeat or (options.until_ready and last.is_ready):
                        return last
                await clock.sleep(PERIOD)
    except TimeoutError:
        if last is None:
            text = (
                f"Datacenter {name}: no response in {options.seconds:g} s; use a longer --timeout"
            )
            raise RequestError(text, ExitCode.NO_ACCESS) from None
    return last


def read_schedule(*, watch: bool, until_ready: bool, timeout: str | None) -> ReadSchedule:
    """Parse the flags. Raises ValueError for an invalid timeout."""
    repeat = watch or until_ready
    if timeout is None:
        return ReadSchedule(repeat, until_ready)
    if not repeat:
        raise ValueError("needs --watch or --until-ready")
    return ReadSchedule(repeat, until_ready, seconds_of(timeout))


def show(
    name: str,
    options: ReadSchedule,
    access: Access,
    *,
    output: Output,
    verbose: bool,
) -> int:
    """Print a datacenter; return the exit status. Raises RequestError."""
    stdout = sys.stdout

    def echo(text: str) -> None:
        click.echo(printable(text, stdout.encoding), nl=False)

    async def run(api: Session) -> View:
        terminal = stdout.isatty()
        screen = Screen(api.clock, echo, output=output, verbose=verbose, terminal=terminal)
        return await follow(api.client, api.clock, name, options, screen)

    return run_in_session("datacenter-status", run, access).exit_code


def printable(text: str, encoding: str | None) -> str:
    """Return the text, with characters that the encoding lacks replaced or escaped."""
    charset = encoding or "ascii"
    try:
        text.encode(charset)
    except UnicodeEncodeError:
        return text.translate(_ASCII).encode(charset, "backslashreplace").decode(charset)
    return text
