"""Delays the revocation of access to Secrets.

A reconcile of the controller that started before a reference was removed may still read the Secret,
and must not fail. Called by managers.tenancy.reconcile.
"""

from __future__ import annotations

from contracts.tenancy import SecretAccess
from runtime.clock import Clock

SECONDS = 10.0
"""Longer than the time between the read of the spec and the last read of a Secret."""


class RevocationDelay:
    """Tracks the Secrets of each namespace that stay granted after their last reference."""

    def __init__(self, clock: Clock, seconds: float = SECONDS) -> None:
        self._clock = clock
        self._seconds = seconds
        self._granted: dict[str, SecretAccess] = {}
        self._until: dict[str, dict[str, float]] = {}

    def keep(self, namespace: str, requested: SecretAccess) -> SecretAccess:
        """Return the access to grant now: the requested access and that of recent requests.

        Without any request there is no cluster, and all access is revoked immediately.
        """
        if not requested.readers and not requested.writers:
            self.forget(namespace)
            return requested
        before = self._granted.get(namespace, requested)
        now = self._clock.monotonic()
        deadlines = self._until.get(namespace, {})
        unreferenced = (before.readers | before.writers) - (requested.readers | requested.writers)
        until = {name: deadlines.get(name, now + self._seconds) for name in unreferenced}
        until = {name: deadline for name, deadline in until.items() if now < deadline}
        self._until[namespace] = until
        writers = requested.writers | (before.writers & until.keys())
        readers = (requested.readers | (before.readers & until.keys())) - writers
        self._granted[namespace] = SecretAccess(readers, writers)
        return self._granted[namespace]

    def recheck_after(self, namespace: str) -> float | None:
        """Return the seconds until the next revocation."""
        deadlines = self._until.get(namespace, {}).values()
        return max(0.0, min(deadlines) - self._clock.monotonic()) if deadlines else None

    def forget(self, namespace: str) -> None:
        """Drop the state of a namespace."""
        self._granted.pop(namespace, None)
        self._until.pop(namespace, None)
