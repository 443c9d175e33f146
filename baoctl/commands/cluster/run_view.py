"""Shows the progress of a backup or restore: as lines, or as a progress bar on a terminal.

Uses rich. Called by baoctl.commands.cluster.run. The bar is on standard error and disappears at the
end; the last state is then printed as a line. Without a terminal, with NO_COLOR and with TERM=dumb
each state is a line. Lines go to standard output, or to standard error for -o json and -o yaml.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from baoctl.commands.cluster.run_steps import RunProgress
from baoctl.commands.cluster.terminal import console, safe
from runtime.clock import Clock

FRAMES_PER_SECOND: Final = 8


ShowProgress = Callable[[RunProgress], None]


@contextmanager
def run_view(clock: Clock, lines: TextIO) -> Iterator[ShowProgress]:
    """Show the progress; call the function that it yields with each state.

    `lines` is the stream for lines.
    """
    out = console(sys.stderr)
    if not _supports_progress_bar(out):
        yield LineView(lines).show
        return
    view = StepView(out, clock)
    try:
        with Live(
            console=out,
            transient=True,
            refresh_per_second=FRAMES_PER_SECOND,
            get_renderable=view.screen,
        ):
            yield view.show
    finally:
        # Also after a timeout, because the last state disappears with the bar.
        _print(view.line, lines)


def _supports_progress_bar(out: Console) -> bool:
    terminal = sys.stdout.isatty() and sys.stderr.isatty()
    return terminal and out.is_interactive and not out.no_color


def _print(line: str, lines: TextIO) -> None:
    if line:
        lines.write(f"{line}\n")
        lines.flush()


class LineView:
    """Prints a line for each phase and message."""

    def __init__(self, lines: TextIO) -> None:
        self._lines = lines
        self._last = ""

    def show(self, progress: RunProgress) -> None:
        """Print the line if it has changed."""
        if progress.line != self._last:
            _print(progress.line, self._lines)
            self._last = progress.line


class StepView:
    """Draws the current step, a bar of all steps, the elapsed time, and the message."""

    def __init__(self, out: Console, clock: Clock) -> None:
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=out,
            get_time=clock.monotonic,
        )
        # Without a total the bar shows no fraction.
        self._task = self._bar.add_task("Request", total=None)
        self.line = ""
        """Last shown phase and message."""

    def show(self, progress: RunProgress) -> None:
        """Set the progress that the next frame draws."""
        self.line = progress.line
        self._bar.update(
            self._task,
            description=progress.step,
            completed=progress.done,
            total=len(progress.steps),
        )

    def screen(self) -> RenderableType:
        """Return the next frame."""
        return Group(self._bar.get_renderable(), Padding(safe(self.line), (0, 0, 0, 2)))
