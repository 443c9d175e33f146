"""Which pods serve which certificate, by the facts of `managers.certs.probe`. Pure.

A pod that is not ready counts as unknown: what it will serve is not known.
"""

from __future__ import annotations

from collections.abc import Iterable

from contracts.records.observed import PodFacts

# How soon to probe a server again that serves another certificate than the newest.
RECHECK = 2.0


def all_serve(pods: Iterable[PodFacts], fingerprint: str) -> bool:
    """Return whether every existing pod was seen to serve that certificate."""
    return all(pod.serves == fingerprint for pod in pods)


def behind(pods: Iterable[PodFacts], fingerprint: str) -> tuple[PodFacts, ...]:
    """Return the ready pods that were probed and do not serve that certificate."""
    return tuple(pod for pod in pods if pod.ready and pod.serves not in (None, fingerprint))
