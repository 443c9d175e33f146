"""Times as text. Imports no API models, so that the verbs of `baoctl` start without them."""

from datetime import UTC, datetime
from functools import lru_cache


# Every reconcile writes the times of all conditions again.
@lru_cache(maxsize=4096)
def rfc3339(moment: datetime) -> str:
    """Return the time as metav1.Time writes it: UTC, whole seconds, Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
