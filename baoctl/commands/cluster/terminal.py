"""Prints tables, trees and colours to a terminal or a pipe.

Uses rich. Called by the modules that print. NO_COLOR and COLUMNS are honoured; a pipe gets no
colours, and by default a width of 120.
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
"""Default columns of an output that is not a terminal."""
FOLDED: Final = 24
"""Minimum width of a column that folds."""
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
    """Print; strip trailing blanks of lines if the output is not a terminal."""
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
    """Return a text of an object, with its terminal control characters escaped."""
    return Text(clean_message(text), style=style)


class WideTable(Table):
    """A table that exceeds a narrow terminal instead of folding every column, as in kubectl."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render it with the width that all columns except the last one need."""
        needed = self.__rich_measure__(console, options.update(max_width=sys.maxsize)).minimum
        width = max(options.max_width, needed)
        yield from super().__rich_console__(console, options.update(max_width=width))


def table(*columns: str) -> Table:
    """Return a table in the style of kubectl: columns without lines; only the last one folds."""
    plain = WideTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=DIM)
    for name in columns[:-1]:
        plain.add_column(name, no_wrap=True)
    plain.add_column(columns[-1], overflow="fold", min_width=FOLDED)
    return plain


def format_structured(value: Any, output: str) -> str:
    """Return a value, or several, as JSON or YAML."""
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
