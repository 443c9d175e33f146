"""Waits for a cluster, with a timeout and a progress line."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from contracts.conditions.condition import REASONS
from contracts.naming import labels
from e2e.demo.errors import DemoError
from e2e.demo.journal import Journal
from e2e.demo.objects import Object, condition, holds, labels_of
from e2e.demo.progress import progress, reason_and_message
from e2e.demo.screen import Screen

_POLL_SECONDS = 0.5
# A cluster that is Stalled for this long requires a user.
STALLED_SECONDS = 30.0


# A label of the pods of Jobs, which are kept for their logs.
_JOB_LABEL = "batch.kubernetes.io/job-name"


def cluster_pods(journal: Journal, name: str) -> list[Object]:
    """Return the server pods of a cluster, as last observed."""
    pods = [pod for pod in journal.alive("pods") if labels_of(pod).get(labels.CLUSTER) == name]
    return [pod for pod in pods if _JOB_LABEL not in labels_of(pod)]


@dataclass(slots=True)
class WaitLimit:
    """Ends a wait after ``seconds``, or when the cluster has been stalled for some time."""

    seconds: float
    began: float
    stalled_since: float | None = None

    @classmethod
    def of(cls, seconds: float) -> "WaitLimit":
        """Start now."""
        return cls(seconds, time.monotonic())

    def check(self, cluster: Object | None, waits_for: str, words: str) -> None:
        """Raise DemoError if waiting longer is pointless."""
        now = time.monotonic()
        stalled = None if cluster is None else condition(cluster, "Stalled")
        if stalled is None or stalled["status"] != "True":
            self.stalled_since = None
        else:
            self.stalled_since = self.stalled_since or now
            if now - self.stalled_since > STALLED_SECONDS:
                why = reason_and_message(stalled)
                raise DemoError(f"the cluster requires manual action. {why}{_advice(stalled)}")
        if now - self.began > self.seconds:
            raise DemoError(f"not {waits_for} after {self.seconds:.0f} s: {words}")


def _advice(condition: Object) -> str:
    reason = REASONS.get(str(condition.get("reason", "")))
    return "" if reason is None else f"\nWhat to do: {reason.next_step}"


def until_condition(
    journal: Journal, screen: Screen, name: str, kind: str, seconds: float
) -> Object:
    """Wait until a condition of the cluster is True and current; return the cluster.

    Raises DemoError after ``seconds``.
    """
    return until(journal, screen, name, kind, Until(lambda cluster: holds(cluster, kind), seconds))


@dataclass(frozen=True, slots=True)
class Until:
    """The expected state of a cluster, and a timeout in seconds."""

    test: Callable[[Object], bool]
    seconds: float


def until(journal: Journal, screen: Screen, name: str, kind: str, condition: Until) -> Object:
    """Wait until the cluster passes a test; ``kind`` is the condition for the progress line."""
    limit = WaitLimit.of(condition.seconds)
    while True:
        cluster = journal.find("openbaoclusters", name)
        if cluster is not None and condition.test(cluster):
            screen.waiting("")
            return cluster
        words = progress(cluster, cluster_pods(journal, name), kind)
        limit.check(cluster, kind, words)
        screen.waiting(words)
        journal.wait(_POLL_SECONDS)
