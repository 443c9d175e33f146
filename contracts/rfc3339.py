"""Times as text. Imports nothing of the API: verbs of `baoctl` start without its models."""

from datetime import UTC, datetime
from functools import lru_cache


# The moments of a quiet cluster's conditions are written in every pass.
@lru_cache(maxsize=4096)
def rfc3339(moment: datetime) -> str:
    """The time as metav1.Time writes it: UTC, whole seconds, Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
