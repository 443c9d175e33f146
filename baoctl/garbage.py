"""Settings of Python's garbage collector for the start and the end of a verb.

Uses the standard library. Called by baoctl.__main__ and baoctl.verbs.process.
"""

from __future__ import annotations

import gc
from typing import Final

_USUAL: Final = gc.get_threshold()
OBJECTS: Final = 200_000
"""More objects than any verb creates up to its first request: `plan` creates 140,000."""


def collect_rarely() -> None:
    """Collect no garbage during the imports, whose objects stay: scanning them takes 0.03 s."""
    gc.set_threshold(OBJECTS)


def collect_as_usual() -> None:
    """Collect garbage as Python does by default, but never scan the objects of the imports."""
    gc.freeze()
    gc.set_threshold(*_USUAL)


def skip_last_collections() -> None:
    """Let the process end without the collections that scan all objects, which takes 0.06 s."""
    gc.freeze()
