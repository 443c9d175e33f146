"""The output of the demo: steps, notes, and a progress line for the current wait.

On a terminal the progress line is updated in place; otherwise it is printed when its text changes
(at most once per second), and every 20 seconds.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TextIO

HEARTBEAT_SECONDS = 20.0
# The progress line is updated at least this often.
TICK_SECONDS = 1.0
_CLEAR = "\r\x1b[K"


@dataclass(frozen=True, slots=True)
class Step:
    """A finished step: title and duration in seconds."""

    title: str
    seconds: float


def duration(seconds: float) -> str:
    """Format seconds: 4.2 s, 1 min 05 s."""
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def fit(text: str, width: int) -> str:
    """Truncate a line to the width of a terminal; a longer one could not be erased."""
    if len(text) <= width:
        return text
    return text[: max(width - 3, 0)] + "..."[: max(width, 0)]


class Screen:
    """Prints to one stream. A context manager; thread-safe."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._live = self._out.isatty() and os.environ.get("TERM") != "dumb"
        self._colored = self._live and not os.environ.get("NO_COLOR")
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self._began = time.monotonic()
        self._step = ""
        self._step_began = self._began
        self._waiting = ""
        self._waiting_began = self._began
        self._printed = ""
        self._waiting_printed_at = 0.0
        self._printed_at = self._began
        self._painted = False
        self.steps: list[Step] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        with self._lock:
            self._erase()

    @property
    def elapsed(self) -> float:
        """Seconds since the screen was created."""
        return time.monotonic() - self._began

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Run one step: prints the title before it, and the duration after success."""
        with self._lock:
            self._line("")
            self._line(self._style(title, "1"))
            self._step, self._step_began = title, time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self._erase()
                took = time.monotonic() - self._step_began
                self._step = self._waiting = self._printed = ""
        self.steps.append(Step(title, took))
        self.say(self._style(f"done in {duration(took)}", "32"))

    def say(self, text: str) -> None:
        """Print a note below the current step, with the time since the start."""
        with self._lock:
            for line in text.splitlines() or [""]:
                self._line(f"{self.elapsed:7.1f}s  {line}")

    def plain(self, text: str = "") -> None:
        """Print text unchanged: tables, the output of kubectl."""
        with self._lock:
            for line in text.splitlines() or [""]:
                self._line(line)

    def heading(self, text: str) -> None:
        """Print a heading."""
        with self._lock:
            self._line("")
            self._line(self._style(text, "1"))

    def error(self, text: str) -> None:
        """Print an error."""
        with self._lock:
            self._line("")
            for line in text.splitlines() or [""]:
                self._line(self._style(line, "31"))

    def waiting(self, words: str) -> None:
        """Set the text of the progress line; "" for none."""
        with self._lock:
            if words == self._waiting:
                return
            if not self._waiting:
                self._waiting_began = time.monotonic()
            self._waiting = words
            if not words:
                self._printed = ""
                self._erase()
            elif self._live:
                self._paint()
            else:
                self._say_waiting()

    def _tick(self) -> None:
        while not self._stop.wait(TICK_SECONDS):
            with self._lock:
                if self._live and self._step:
                    self._paint()
                elif self._step:
                    self._say_waiting()

    def _say_waiting(self) -> None:
        now = time.monotonic()
        if self._waiting != self._printed and now - self._waiting_printed_at >= TICK_SECONDS:
            self._printed, self._waiting_printed_at = self._waiting, now
            self.say(self._waiting)
        elif now - self._printed_at >= HEARTBEAT_SECONDS:
            self.say(f"still: {self._waiting or self._step} ({self._since()})")

    def _since(self) -> str:
        begun = self._waiting_began if self._waiting else self._step_began
        return duration(time.monotonic() - begun)

    def _paint(self) -> None:
        before, after = f"{self.elapsed:7.1f}s  ", f" ({self._since()})"
        room = _width(self._out) - len(before) - len(after) - 1
        text = before + fit(self._waiting or "...", room) + after
        self._out.write(_CLEAR + self._style(text, "2"))
        self._out.flush()
        self._painted = True

    def _erase(self) -> None:
        if self._painted:
            self._out.write(_CLEAR)
            self._out.flush()
            self._painted = False

    def _line(self, text: str) -> None:
        self._erase()
        self._out.write(f"{text}\n")
        self._out.flush()
        self._printed_at = time.monotonic()

    def _style(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colored and text else text


def _width(out: TextIO) -> int:
    try:
        return os.get_terminal_size(out.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
