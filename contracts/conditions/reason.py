"""One reason of a condition; the reasons are in contracts.conditions.reasons_*."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason of a condition: its meaning, and what the user does about it."""

    name: str
    meaning: str
    next_step: str

    @property
    def message(self) -> str:
        """The default message of a condition: the meaning, without its final period."""
        return self.meaning.removesuffix(".")


NO_ACTION = "Nothing to do."
