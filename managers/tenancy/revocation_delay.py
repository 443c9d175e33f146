"""Takes rights away a moment late.

A pass of the controller that began before a reference was removed may still read the Secret: it is
to end in peace. Called by managers.tenancy.reconcile.
"""

from __future__ import annotations

from contracts.tenancy import SecretAccess
from runtime.clock import Clock

SECONDS = 10.0
"""Longer than a pass may take between its look at the spec and its last read of a Secret."""


class RevocationDelay:
    """Which Secrets of each namespace are still granted, though no cluster asks for them."""

    def __init__(self, clock: Clock, seconds: float = SECONDS) -> None:
        self._clock = clock
        self._seconds = seconds
        self._granted: dict[str, SecretAccess] = {}
        self._until: dict[str, dict[str, float]] = {}

    def keep(self, namespace: str, requested: SecretAccess) -> SecretAccess:
        """Return what to grant now: what is wanted, and what was until a moment ago.

        Where nothing is wanted at all there is no cluster, and nothing lingers.
        """
        if not requested.readers and not requested.writers:
            self.forget(namespace)
            return requested
        before = self._granted.get(namespace, requested)
        now = self._clock.monotonic()
        deadlines = self._until.get(namespace, {})
        left = (before.readers | before.writers) - (requested.readers | requested.writers)
        until = {name: deadlines.get(name, now + self._seconds) for name in left}
        until = {name: end for name, end in until.items() if now < end}
        self._until[namespace] = until
        writers = requested.writers | (before.writers & until.keys())
        readers = (requested.readers | (before.readers & until.keys())) - writers
        self._granted[namespace] = SecretAccess(readers, writers)
        return self._granted[namespace]

    def recheck_after(self, namespace: str) -> float | None:
        """In how many seconds the next right ends."""
        ends = self._until.get(namespace, {}).values()
        return max(0.0, min(ends) - self._clock.monotonic()) if ends else None

    def forget(self, namespace: str) -> None:
        """Drop what is known of a namespace."""
        self._granted.pop(namespace, None)
        self._until.pop(namespace, None)
