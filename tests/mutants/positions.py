"""Where the nodes and tokens of a Python file are in its text. Pure; used by the operators."""

import ast
import io
import tokenize
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate

_LAYOUT = frozenset(
    {
        tokenize.COMMENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
        tokenize.INDENT,
        tokenize.NEWLINE,
        tokenize.NL,
    }
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token that is neither a comment nor layout, by offsets into the text."""

    start: int
    end: int
    text: str


class Positions:
    """A text with its tokens; all offsets count characters from the start of the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = io.StringIO(text).readlines()
        self._starts = [0, *accumulate(map(len, self._lines))]
        self._tokens = [
            Token(self._offset(*token.start), self._offset(*token.end), token.string)
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type not in _LAYOUT
        ]
        self._token_starts = [token.start for token in self._tokens]

    def start(self, node: ast.expr | ast.stmt) -> int:
        """Return the offset of the first character of a node, without parentheses around it."""
        return self._in_bytes(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        """Return the offset behind the last character of a node."""
        if node.end_lineno is None or node.end_col_offset is None:
            raise ValueError("a node without an end was not parsed from a text")
        return self._in_bytes(node.end_lineno, node.end_col_offset)

    def between(self, start: int, end: int) -> list[Token]:
        """Return the tokens that start in this part of the text."""
        first, last = (bisect_left(self._token_starts, offset) for offset in (start, end))
        return self._tokens[first:last]

    def before(self, offset: int) -> Token:
        """Return the last token that starts before an offset."""
        return self._tokens[bisect_left(self._token_starts, offset) - 1]

    def behind(self, offset: int) -> Token:
        """Return the first token that starts at an offset or later."""
        return self._tokens[bisect_left(self._token_starts, offset)]

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset; both count from 1."""
        line = bisect_left(self._starts, offset + 1)
        return line, offset - self._starts[line - 1] + 1

    def _offset(self, line: int, column: int) -> int:
        return self._starts[min(line - 1, len(self._lines))] + column

    def _in_bytes(self, line: int, column: int) -> int:
        """Convert a position of ast, whose columns count bytes of UTF-8."""
        text = self._lines[line - 1]
        if not text.isascii():
            column = len(text.encode()[:column].decode())
        return self._starts[line - 1] + column
