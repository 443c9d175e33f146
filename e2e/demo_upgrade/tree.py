"""Draws an upgrade as a tree: the cluster with its step, and its servers. Pure."""

from collections.abc import Sequence

from contracts.naming import labels
from e2e.demo.objects import Object, by_name, condition, labels_of, name_of, status_of
from e2e.demo.progress import pod_state
from e2e.harness.upgrade_history import image_of

_ENDS = ("Complete", "Failed")


def tree(cluster: Object, pods: Sequence[Object], jobs: Sequence[Object]) -> list[str]:
    """Draw one state as lines: the step, the servers by ordinal, the Jobs."""
    below = [_server(pod, status_of(cluster)) for pod in by_name(pods)]
    below += [f"Job {name_of(job)} {_job_words(job)}" for job in by_name(jobs)]
    last = len(below) - 1
    branches = [f"{'`-' if number == last else '|-'} {line}" for number, line in enumerate(below)]
    return [_head(cluster), *branches]


def _head(cluster: Object) -> str:
    name, status = name_of(cluster), status_of(cluster)
    upgrade, second = status.get("upgrade"), status.get("blueGreen") or {}
    if second.get("greenVersion"):
        return f"{name} to {second['greenVersion']}  {second['phase']}"
    if not upgrade:
        waits = condition(cluster, "Upgrading")
        version = cluster["spec"]["version"]
        runs = str(status.get("currentVersion") or "")
        message = (
            f": {waits['message']}" if waits and waits.get("message") and version != runs else ""
        )
        return f"{name} {runs}{message}"
    done, size = len(upgrade.get("completedPods") or ()), cluster["spec"]["replicas"]
    failure = upgrade.get("failure")
    step = str(failure["reason"]) if failure else str(upgrade.get("phase") or "")
    versions = f"{upgrade['fromVersion']} > {upgrade['targetVersion']}"
    return f"{name} {versions}  {step}, {done} of {size} upgraded"


def _server(pod: Object, status: Object) -> str:
    version = image_of(pod).rpartition(":")[2]
    words = [f"{name_of(pod)}  {version}  {pod_state(pod)}"]
    if labels.registration(labels_of(pod)).active is True:
        words.append("leader")
    if (status.get("upgrade") or {}).get("pod") == name_of(pod):
        words.append("upgraded next")
    return ", ".join(words)


def _job_words(job: Object) -> str:
    for kind in _ENDS:
        entry = condition(job, kind)
        if entry is not None and entry["status"] == "True":
            return "is done" if kind == "Complete" else f"failed: {entry.get('message', '')}"
    return "is running"
