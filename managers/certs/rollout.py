"""Which pods serve which certificate, judged from facts. Pure; the look itself is `look`.

A pod that is not ready counts as unknown: nobody can tell what it will serve.
"""

from __future__ import annotations

from collections.abc import Iterable

from contracts.records.observed import PodFacts

# How soon to look again at a server that serves another certificate than the newest.
RECHECK = 2.0


def all_serve(pods: Iterable[PodFacts], fingerprint: str) -> bool:
    """Tell whether every pod there is was seen to serve that certificate."""
    return all(pod.serves == fingerprint for pod in pods)


def behind(pods: Iterable[PodFacts], fingerprint: str) -> tuple[PodFacts, ...]:
    """Return the ready pods that were looked at and do not serve that certificate."""
    return tuple(pod for pod in pods if pod.ready and pod.serves not in (None, fingerprint))
