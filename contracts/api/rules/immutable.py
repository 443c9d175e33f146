"""The rule that a spec is immutable.

Uses contracts.api.rules.rule. Called by the rules about the kinds that run once: backups and
restores.
"""

from collections.abc import Iterator
from typing import Any, Protocol, TypeVar

from contracts.api.meta import ObjectMeta
from contracts.api.rules.rule import Offence, RuleOf


class Made(Protocol):
    """An object that is made once."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its metadata."""

    @property
    def spec(self) -> Any:
        """What never changes."""


Kind = TypeVar("Kind", bound=Made)


def _changed(new: Made, old: Made | None) -> Iterator[Offence]:
    # The API server counts the changes of a spec: an object that was changed where no rule stood is
    # known by it, without the former one.
    if new.metadata.generation > 1 or (old is not None and new.spec != old.spec):
        yield "spec", None


def fixed_spec(what: str, advice: str) -> RuleOf[Kind]:
    """The rule for one kind; `advice` is what to do instead of a change."""
    return RuleOf(
        id=f"{what}-fixed",
        at="spec",
        field="spec",
        message=f"must stay as it is, because it is carried out once; {advice}",
        broken=_changed,
        cel="self == oldSelf",
        reason="FieldValueForbidden",
    )
