"""Diagnostics after a failure of the demo. Each part is printed if available."""

import http.client
from collections.abc import Callable, Sequence

import orjson

from contracts.conditions.condition import REASONS, TYPES
from e2e.demo.api import Api, ApiError
from e2e.demo.errors import DemoError
from e2e.demo.install import leader, operator_pods
from e2e.demo.kubectl import Kubectl
from e2e.demo.manifests import OPERATOR_NAMESPACE
from e2e.demo.objects import Object, by_name, name_of, status_of
from e2e.demo.progress import pod_state, reason_and_message
from e2e.demo.sample import cluster_path
from e2e.demo.screen import Screen

LOG_LINES = 15
EVENTS = 10
_NOISE = frozenset({"reconcile_id", "identity", "controller"})
_POLARITY = {kind.name: kind.polarity for kind in TYPES}


def show(kubectl: Kubectl, api: Api, home: str, name: str, screen: Screen) -> None:
    """Print conditions, pods, warning events and the end of the operator log."""
    parts: list[tuple[str, Callable[[], str]]] = [
        (f"Conditions of OpenBaoCluster {name}", lambda: _conditions(api, home, name)),
        (f"Pods in {home}", lambda: _pods(api, home)),
        ("The last warnings", lambda: _warnings(api, home, name)),
        ("Pods of the operator", lambda: _pods(api, OPERATOR_NAMESPACE)),
        (f"The last {LOG_LINES} lines of the operator", lambda: _log(kubectl, api)),
    ]
    for title, part in parts:
        screen.heading(title)
        try:
            screen.plain(part())
        except (DemoError, ApiError, OSError, http.client.HTTPException) as error:
            screen.plain(f"  (not available: {error})")


def _conditions(api: Api, home: str, name: str) -> str:
    cluster = api.find(cluster_path(home, name))
    if cluster is None:
        return "  (the cluster does not exist)"
    return "\n".join(condition_lines(status_of(cluster).get("conditions") or []))


def condition_lines(conditions: Sequence[Object]) -> list[str]:
    """Format conditions, one per line, each failed one followed by its next step."""
    lines = []
    for entry in conditions:
        lines.append(f"  {entry['type']:<22}{entry['status']:<9}{reason_and_message(entry)}")
        reason = REASONS.get(str(entry.get("reason", "")))
        if reason is not None and is_bad(entry):
            lines.append(f"  {'':<31}-> {reason.next_step}")
    return lines or ["  (none yet)"]


def is_bad(condition: Object) -> bool:
    """Whether the status of a condition is the bad one; neutral conditions are never bad."""
    polarity = _POLARITY.get(condition["type"], "neutral")
    return (polarity, condition["status"]) in {("good", "False"), ("bad", "True")}


def _pods(api: Api, namespace: str) -> str:
    pods = by_name(api.items(f"/api/v1/namespaces/{namespace}/pods"))
    lines = []
    for pod in pods:
        containers = status_of(pod).get("containerStatuses") or ()
        restarts = sum(int(container.get("restartCount", 0)) for container in containers)
        again = f", {restarts} restarts" if restarts else ""
        lines.append(f"  {name_of(pod)} {pod_state(pod)}{again}")
    return "\n".join(lines) or "  (none)"


def _warnings(api: Api, namespace: str, name: str) -> str:
    cluster = api.find(cluster_path(namespace, name))
    since = "" if cluster is None else str(cluster["metadata"]["creationTimestamp"])
    events = api.items(f"/api/v1/namespaces/{namespace}/events?fieldSelector=type%3DWarning")
    return "\n".join(event_lines(events, since)) or "  (none)"


def event_lines(events: Sequence[Object], since: str) -> list[str]:
    """Format the newest events from ``since`` (RFC 3339) on, one per line, newest last."""

    def when(event: Object) -> str:
        return str(event.get("lastTimestamp") or event.get("eventTime") or "")

    lines = []
    recent = [event for event in events if when(event) >= since]
    for event in sorted(recent, key=when)[-EVENTS:]:
        about = event.get("involvedObject") or {}
        what = f"{about.get('kind', '')} {about.get('name', '')}"
        lines.append(f"  {when(event)[:19]} {what}: {event.get('reason')}: {event.get('message')}")
    return lines


def _log(kubectl: Kubectl, api: Api) -> str:
    first = leader(api)
    pods = sorted((name_of(pod) for pod in operator_pods(api)), key=lambda pod: pod != first)
    if not pods:
        return "  (it has no pods)"
    lines = []
    for pod in pods:
        lines.append(f"  {pod}{' (leads)' if pod == first else ''}")
        tail = kubectl("logs", "-n", OPERATOR_NAMESPACE, pod, f"--tail={LOG_LINES}")
        lines += [f"    {log_line(line)[:400]}" for line in tail.splitlines()]
    return "\n".join(lines)


def log_line(line: str) -> str:
    """Format a JSON log line as text: time, level, message, other fields."""
    try:
        record = orjson.loads(line)
    except ValueError:
        return line
    if not isinstance(record, dict):
        return line
    first = [str(record.pop(key, "")) for key in ("time", "level", "msg")]
    rest = [f"{key}={value}" for key, value in record.items() if key not in _NOISE]
    return " ".join([first[0][11:19], *first[1:], *rest])
