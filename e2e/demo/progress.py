"""Progress lines from conditions and pods. Pure."""

from collections.abc import Sequence

from e2e.demo.objects import (
    Object,
    by_name,
    condition,
    holds,
    is_ready,
    is_terminating,
    name_of,
    status_of,
)

_LONGEST = 160


def progress(cluster: Object | None, pods: Sequence[Object], waits_for: str) -> str:
    """Return, on one line, the progress of the cluster to the condition ``waits_for``.

    The text is that of the condition Ready while it is not True, otherwise that of ``waits_for``,
    followed by each pod that is not ready.
    """
    rest = [f"{name_of(pod)} {pod_state(pod)}" for pod in by_name(pods) if not is_ready(pod)]
    return "; ".join([_about_cluster(cluster, waits_for), *rest])


def _about_cluster(cluster: Object | None, waits_for: str) -> str:
    if cluster is None:
        return "the cluster does not exist yet"
    observed_generation = status_of(cluster).get("observedGeneration", 0)
    if observed_generation < cluster["metadata"].get("generation", 0) or not status_of(cluster).get(
        "conditions"
    ):
        return "the operator has not reconciled the cluster yet"
    for kind in ("Ready", waits_for):
        entry = condition(cluster, kind)
        if entry is not None and entry["status"] != "True":
            return reason_and_message(entry)
    return f"{waits_for} is {'true' if holds(cluster, waits_for) else 'not known yet'}"


def reason_and_message(condition: Object) -> str:
    """Return reason and message of a condition."""
    message = _short(str(condition.get("message", "")))
    return (
        f"{condition.get('reason', '')}: {message}" if message else str(condition.get("reason", ""))
    )


def pod_state(pod: Object) -> str:
    """Return the state of a pod as text."""
    if is_terminating(pod):
        return "is stopping"
    if is_ready(pod):
        return "is ready"
    scheduled = condition(pod, "PodScheduled")
    if scheduled is not None and scheduled["status"] != "True":
        return f"waits for a node: {_short(str(scheduled.get('message', '')))}"
    status = status_of(pod)
    for container in status.get("containerStatuses") or ():
        state = container.get("state") or {}
        if "waiting" in state:
            return f"waits: {reason_and_message(state['waiting'])}"
        if "terminated" in state:
            return f"has ended with exit code {state['terminated'].get('exitCode')}"
        if "running" in state:
            return "runs, not ready yet"
    return f"is {str(status.get('phase', 'new')).lower()}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."
