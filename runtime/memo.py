"""Results of pure functions, kept while their inputs stay the same objects.

Standard library only. For what is computed from an object that lives through many passes and
changes rarely; the results live no longer than they can be asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

SIZE = 512
"""First arguments, per function, whose last result is kept; the one longest not used goes first."""

First = TypeVar("First")
Rest = ParamSpec("Rest")
Result = TypeVar("Result")


def remembered(
    function: Callable[Concatenate[First, Rest], Result],
    *,
    size: int = SIZE,
    slot: Callable[[First], Hashable] = id,
) -> Callable[Concatenate[First, Rest], Result]:
    """Keep the last result per first argument, which is told by identity; the others are compared.

    For functions that depend on nothing but their arguments, and arguments that nobody changes:
    frozen values, and objects of a cache. Callers share the result and leave it as it is. What
    raises is not kept. Of first arguments with the same `slot` only the last one is kept: named by
    its UID, an object takes the place of its former version, and `size` may be that of a fleet.
    """
    kept: OrderedDict[Hashable, tuple[First, tuple[Any, ...], dict[str, Any], Result]]
    kept = OrderedDict()

    @wraps(function)
    def ask(first: First, /, *rest: Rest.args, **named: Rest.kwargs) -> Result:
        place = slot(first)
        # The first argument is kept beside its result: its id belongs to nobody else meanwhile.
        found = kept.get(place)
        if found is not None and found[0] is first and found[1] == rest and found[2] == named:
            try:  # noqa: SIM105 - suppress() would double the price of an answer
                kept.move_to_end(place)
            except KeyError:
                # Another thread has let go of it since.
                pass
            return found[3]
        result = function(first, *rest, **named)
        kept[place] = (first, rest, named, result)
        kept.move_to_end(place)
        if len(kept) > size:
            kept.popitem(last=False)
        return result

    return ask
