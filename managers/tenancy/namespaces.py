"""The namespaces of tenants: their existence and their Pod Security labels.

Namespaces are read by name, and never listed or watched. Called by managers.tenancy.reconcile.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from managers.tenancy.plan import POD_SECURITY, pod_security_missing
from managers.tenancy.rbac import FIELD_MANAGER, JITTER
from runtime.builtin_kinds import NAMESPACE
from runtime.client.client import Client
from runtime.clock import Clock
from runtime.errors import NotFound
from runtime.types import Object, ObjectKey, is_terminating, uid_of

MISSING_RECHECK = 1.0
"""Seconds to the next read of a missing or terminating namespace. They grow while a namespace is
missing."""
MISSING_RECHECK_MAX = 60.0


@dataclass(frozen=True, slots=True)
class NamespaceState:
    """The last observed state of a namespace."""

    exists: bool
    terminating: bool = False


@dataclass(slots=True)
class _CachedNamespace:
    state: NamespaceState
    until: float
    missing_since: float | None = None


class Namespaces:
    """Caches the state of namespaces. Each is read again after `period` seconds, plus or minus a
    fifth; sooner if it is missing or terminating."""

    def __init__(self, client: Client, clock: Clock, rng: random.Random, period: float) -> None:
        self._client = client
        self._clock = clock
        self._rng = rng
        self._period = period
        self._cache: dict[str, _CachedNamespace] = {}

    async def observe(self, name: str, *, refresh: bool = False) -> NamespaceState:
        """Return the state of a namespace; reading it also corrects its Pod Security labels.

        `refresh`: read it even if it is cached.
        """
        cached = self._cache.get(name)
        now = self._clock.monotonic()
        if cached is not None and not refresh and now < cached.until:
            return cached.state
        since = cached.missing_since if cached is not None else None
        try:
            live = await self._client.get(NAMESPACE, ObjectKey("", name))
        except NotFound:
            since = now if since is None else since
            # A missing namespace is often created soon after its tenant.
            delay = min(MISSING_RECHECK_MAX, max(MISSING_RECHECK, (now - since) / 2))
            self._cache[name] = _CachedNamespace(NamespaceState(False), now + delay, since)
            return NamespaceState(False)
        state = NamespaceState(True, is_terminating(live))
        if not state.terminating and pod_security_missing(live):
            await self._label(live)
        jitter = 1 + JITTER * (2 * self._rng.random() - 1)
        self._cache[name] = _CachedNamespace(
            state, now + (MISSING_RECHECK if state.terminating else self._period * jitter)
        )
        return state

    def recheck_after(self, name: str) -> float | None:
        """Return the seconds until the namespace is read again."""
        cached = self._cache.get(name)
        return None if cached is None else max(0.0, cached.until - self._clock.monotonic())

    def forget(self, name: str) -> None:
        """Drop a namespace from the cache."""
        self._cache.pop(name, None)

    async def _label(self, live: Object) -> None:
        body = {
            "apiVersion": NAMESPACE.api_version,
            "kind": NAMESPACE.kind,
            "metadata": {
                "name": live["metadata"]["name"],
                "uid": uid_of(live),
                "labels": dict(POD_SECURITY),
            },
        }
        # Force ownership: a weaker level of another field manager would admit forbidden pods.
        await self._client.apply(NAMESPACE, body, field_manager=FIELD_MANAGER, force=True)
