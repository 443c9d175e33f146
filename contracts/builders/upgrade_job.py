"""The Job of one step of an upgrade: step-down, join, promotion, demotion or removal of servers.

Pure. Called by managers.upgrade; managers.jobs adds the owner reference. The Job has no access to
the API server, so its condition is its only result. Every action may be repeated: an evicted pod is
recreated, while a failed pod fails the Job immediately. Semantics: Kubernetes API reference,
batch/v1 JobSpec and PodFailurePolicy (stable since 1.31).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from contracts.builders.job_pod import (
    CONTAINER,
    MESH_ANNOTATIONS,
    MESH_LABELS,
    STAY_ANNOTATIONS,
    job_container,
    job_pod_part,
    plain_resources,
    pod_spec,
)
from contracts.jobs.env import UpgradeEnv
from contracts.jobs.template import JobTemplate
from contracts.jobs.upgrade_actions import ACTIONS, Order
from contracts.naming import labels, names
from runtime.builtin_kinds import JOB
from runtime.types import Object

MODE: Final = "upgrade"
"""The argument of `baoctl job`, and the component label of the Job (`labels.JOBS`)."""
KEPT_SECONDS: Final = 3600
"""ttlSecondsAfterFinished: how long a user can read the Job and its log after its end."""

_FAILURE_POLICY: Final[Mapping[str, Any]] = {
    "rules": [
        {
            "action": "Ignore",
            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
        },
        {
            "action": "FailJob",
            "onExitCodes": {"containerName": CONTAINER, "operator": "NotIn", "values": [0]},
        },
    ]
}


def upgrade_job(template: JobTemplate, order: Order) -> Object:
    """Build the Job of an order. Raises ValueError for an invalid order."""
    problem = order.problem()
    if problem:
        raise ValueError(problem)
    env = upgrade_env(template, order)
    part = job_pod_part(template, env, reports=False)
    own = labels.component(template.cluster, MODE)
    annotations = {labels.UPGRADE_ACTION: order.action, labels.UPGRADE_RUN_ID: order.run}
    container = job_container(template.image, MODE, part, plain_resources())
    return {
        "apiVersion": JOB.api_version,
        "kind": JOB.kind,
        "metadata": {
            "name": names.upgrade_job(template.cluster, order.action, order.run),
            "namespace": template.namespace,
            "labels": own,
            "annotations": annotations,
        },
        "spec": {
            "activeDeadlineSeconds": ACTIONS[order.action].deadline,
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "podFailurePolicy": _FAILURE_POLICY,
            # No second pod while the first one may still run.
            "podReplacementPolicy": "Failed",
            "ttlSecondsAfterFinished": KEPT_SECONDS,
            "template": {
                "metadata": {
                    "labels": {**MESH_LABELS, **own},
                    "annotations": {**MESH_ANNOTATIONS, **STAY_ANNOTATIONS, **annotations},
                },
                "spec": pod_spec(template, container, part.volumes),
            },
        },
    }


def upgrade_env(template: JobTemplate, order: Order) -> UpgradeEnv:
    """Return the variables. Possible leaders are the pods of the order, else of the template."""
    pods = (*order.blue, *order.green) or (*template.servers, *filter(None, [order.target]))
    server = dataclasses.replace(template.server_env(), pods=tuple(dict.fromkeys(pods)))
    return UpgradeEnv(
        server=server,
        action=order.action,
        run_id=order.run,
        target=order.target,
        blue=order.blue,
        green=order.green,
    )
