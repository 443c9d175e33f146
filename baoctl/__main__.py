"""`python -m baoctl`, and the entry point of the programs baoctl and kubectl-bao.

Uses the standard library until its signals and streams are set. Uses baoctl.garbage and baoctl.cli.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Run a verb."""
    _open_closed_streams()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # That handler would print a traceback of the imports.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from baoctl.garbage import collect_rarely, skip_last_collections

    collect_rarely()
    _skip_pydantic_plugins()
    from baoctl.cli import main as verbs

    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        verbs()
    finally:
        skip_last_collections()


def _skip_pydantic_plugins() -> None:
    """Let pydantic search no other package for plugins, which takes 5 ms, and run none of them.

    A user may set the variable to the names of plugins: then pydantic skips only those.
    """
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def _open_closed_streams() -> None:
    """Open /dev/null for a standard stream that the caller closed (`>&-`), as programs in Go do.

    Otherwise the next file or socket would get the number of that stream.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # open() returns the lowest free number, which is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8")
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8")


if __name__ == "__main__":
    main()
