"""Results of pure functions, kept while their inputs stay the same objects.

Standard library only. For what is computed from an object that lives through many passes and
changes rarely; the results live no longer than they can be asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

SIZE = 512
"""First arguments, per function, whose last result is kept; the one longest not used goes first."""

First = TypeVar("First")
Rest = ParamSpec("Rest")
Result = TypeVar("Result")


def remembered(
    function: Callable[Concatenate[First, Rest], Result],
) -> Callable[Concatenate[First, Rest], Result]:
    """Keep the last result per first argument, which is told by identity; the others are compared.

    For functions that depend on nothing but their arguments, and arguments that nobody changes:
    frozen values, and objects of a cache. Callers share the result and leave it as it is. What
    raises is not kept.
    """
    kept: OrderedDict[int, tuple[First, tuple[Any, ...], dict[str, Any], Result]] = OrderedDict()

    @wraps(function)
    def ask(first: First, /, *rest: Rest.args, **named: Rest.kwargs) -> Result:
        # The first argument is kept beside its result: its id belongs to nobody else meanwhile.
        found = kept.get(id(first))
        if found is not None and found[1] == rest and found[2] == named:
            kept.move_to_end(id(first))
            return found[3]
        result = function(first, *rest, **named)
        kept[id(first)] = (first, rest, named, result)
        kept.move_to_end(id(first))
        if len(kept) > SIZE:
            kept.popitem(last=False)
        return result

    return ask
