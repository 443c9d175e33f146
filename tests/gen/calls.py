"""The cost of an operation as the number of function calls, which is equal on every machine."""

from __future__ import annotations

import sys
from types import FrameType, TracebackType
from typing import Self


class CallCount:
    """Counts the calls of Python and C functions in its block."""

    def __init__(self) -> None:
        self.calls = 0

    def __enter__(self) -> Self:
        sys.setprofile(self._count)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        sys.setprofile(None)

    def _count(self, frame: FrameType, event: str, argument: object) -> None:
        self.calls += event in ("call", "c_call")
