"""Prints tables, trees and colors to a terminal or a pipe.

Uses rich. Called by the modules that print. The variables NO_COLOR and COLUMNS apply. A pipe
receives no colors, and by default lines of 120 columns.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import IO, Any, Final

import yaml
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from contracts.conditions.message import clean_message

WIDTH: Final = 120
"""Default width of an output that is not a terminal."""
LAST_COLUMN_MIN_WIDTH: Final = 24
"""Minimum width of the last column, which folds long texts."""
STRUCTURED: Final = ("json", "yaml")
GOOD, BAD, WARN, DIM, BOLD = "green", "red", "yellow", "dim", "bold"


def console(file: IO[str] | None = None) -> Console:
    """Return a console for a file, by default standard output."""
    out = file or sys.stdout
    width = None if out.isatty() else shutil.get_terminal_size((WIDTH, 50)).columns
    return Console(
        file=out, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False
    )


def emit(out: Console, what: RenderableType) -> None:
    """Print to a console. Without a terminal, strip the trailing blanks of lines."""
    if out.is_terminal:
        out.print(what, crop=False)
        return
    with out.capture() as captured:
        out.print(what, crop=False)
    out.file.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def present(value: Any, text: RenderableType, output: str, out: Console | None = None) -> None:
    """Print a value as JSON or YAML, or its text for people."""
    if output in STRUCTURED:
        sys.stdout.write(format_structured(value, output))
    else:
        emit(out or console(), text)


def report_empty(reason: str, value: Any, output: str) -> None:
    """Print an empty list as JSON or YAML, and the reason to standard error, as kubectl does."""
    if output in STRUCTURED:
        sys.stdout.write(format_structured(value, output))
    sys.stderr.write(f"{reason}\n")


def safe(text: str, style: str = "") -> Text:
    """Return a text with its terminal control characters escaped."""
    return Text(clean_message(text), style=style)


class WideTable(Table):
    """A table that is wider than a narrow terminal, as in kubectl, instead of folding columns."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the table with the minimum width of its columns, of which only the last folds."""
        needed = self.__rich_measure__(console, options.update(max_width=sys.maxsize)).minimum
        width = max(options.max_width, needed)
        yield from super().__rich_console__(console, options.update(max_width=width))


def table(*columns: str) -> Table:
    """Return a table in the style of kubectl: without lines; only the last column folds."""
    plain = WideTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=DIM)
    for name in columns[:-1]:
        plain.add_column(name, no_wrap=True)
    plain.add_column(columns[-1], overflow="fold", min_width=LAST_COLUMN_MIN_WIDTH)
    return plain


def format_structured(value: Any, output: str) -> str:
    """Return a value, or a sequence of values, as JSON or YAML."""
    plain = _plain(value)
    if output == "yaml":
        return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100))
    return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {_camel(field.name): _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.title() for other in others)
