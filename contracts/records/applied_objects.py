"""The applied objects of a reconcile, which the apply step creates. No I/O.

They have another type than `Desired`, so that the status cannot be computed from objects that were
built but not applied.
"""

from __future__ import annotations

from dataclasses import dataclass

from contracts.records.desired import Desired
from runtime.apply.apply_result import Applied
from runtime.outcome import Outcome
from runtime.verdict import Verdict


@dataclass(frozen=True, slots=True)
class AppliedObjects:
    """The result of the apply of a `Desired`."""

    desired: Desired
    objects: tuple[Applied, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    optional: tuple[Applied, ...] = ()
    """The results for the objects that no pod needs."""

    @property
    def in_place(self) -> bool:
        """Whether every object that pods need is as planned."""
        return all(applied.in_place for applied in self.objects)

    def of(self, *verdicts: Verdict) -> tuple[Applied, ...]:
        """Return the results with one of these verdicts."""
        return tuple(
            applied for applied in (*self.objects, *self.optional) if applied.verdict in verdicts
        )

    @property
    def conflicts(self) -> tuple[str, ...]:
        """One message for each object of another owner that blocks an apply."""
        return tuple(applied.message for applied in self.of(Verdict.FOREIGN))
