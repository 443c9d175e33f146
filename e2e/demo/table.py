"""Tables as plain text and as Markdown. Pure."""

from collections.abc import Sequence

Row = Sequence[str]


def plain(headers: Row, rows: Sequence[Row], indent: str = "  ") -> str:
    """Format a table for a terminal: the first column left-aligned, all others right-aligned."""
    widths = [max(len(line[column]) for line in (headers, *rows)) for column in range(len(headers))]
    lines = [_line(headers, widths), "  ".join("-" * width for width in widths)]
    lines += [_line(row, widths) for row in rows]
    return "\n".join(f"{indent}{line}".rstrip() for line in lines)


def _line(row: Row, widths: Sequence[int]) -> str:
    first, *rest = (
        cell.rjust(width) if column else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join([first, *rest])


def markdown(headers: Row, rows: Sequence[Row]) -> str:
    """Format the table as Markdown; bars in cells are escaped."""
    marks = ["---", *("---:" for _ in headers[1:])]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"
        for line in (headers, marks, *rows)
    )
