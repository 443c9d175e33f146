"""Evaluates which pods serve a certificate, from the results of managers.certs.probe. Pure.

The certificate of a pod that is not ready is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable

from contracts.records.observed import PodFacts

# Seconds until a server that does not serve the newest certificate is probed again.
RECHECK = 2.0


def all_serve(pods: Iterable[PodFacts], fingerprint: str) -> bool:
    """Return whether all pods are known to serve that certificate."""
    return all(pod.serves == fingerprint for pod in pods)


def pods_not_serving(pods: Iterable[PodFacts], fingerprint: str) -> tuple[PodFacts, ...]:
    """Return the ready pods that were probed and do not serve that certificate."""
    return tuple(pod for pod in pods if pod.ready and pod.serves not in (None, fingerprint))
