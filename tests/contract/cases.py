"""All cases, by name: the same functions for each server."""

from collections.abc import Awaitable, Callable
from types import ModuleType

from tests.contract import applying, forgetting, reading, writing
from tests.contract.bench import Bench

Case = Callable[[Bench], Awaitable[None]]


def _cases(*modules: ModuleType) -> dict[str, Case]:
    return {
        name.removeprefix("case_"): case
        for module in modules
        for name, case in vars(module).items()
        if name.startswith("case_")
    }


CASES = _cases(reading, writing, applying)

FORGETFUL_CASES = _cases(forgetting)
"""For a server that has just been started, and has no earlier history."""
