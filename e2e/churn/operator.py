"""An operator process that writes a census of its live objects on SIGUSR1.

Run as `python -m e2e.churn.operator FILE ARGUMENTS`, with the arguments of `python -m baoctl`. FILE
gets a JSON object: the number of live objects by type.
"""

import gc
import os
import signal
import sys
from collections import Counter
from pathlib import Path

import orjson

from baoctl.cli import main


def census() -> dict[str, int]:
    """Count the live objects that the garbage collector of Python tracks, by type."""
    # The operator freezes its objects after the start; replaced ones would count as new otherwise.
    gc.unfreeze()
    gc.collect()
    kinds = map(type, gc.get_objects())
    return dict(Counter(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds))


def _write(path: Path) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_bytes(orjson.dumps(census()))
    os.replace(fresh, path)


if __name__ == "__main__":
    file = Path(sys.argv.pop(1))
    signal.signal(signal.SIGUSR1, lambda *_: _write(file))
    main()
