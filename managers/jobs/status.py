"""The status of a Job, and the objects with the rights of the pod of a run. Pure.

The Role and the RoleBinding allow the pod to write the status of its run. If the store needs the
identity of the pod, the NetworkPolicy allows it to connect to the metadata service of the cloud,
which other policies deny.

Source: Kubernetes API reference, batch/v1 JobStatus. A Job is finished when it has the condition
Complete or Failed, not earlier: from 1.31 on Kubernetes sets them when all pods have terminated.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from contracts.api.group import GROUP, RESTORES
from contracts.jobs.cloud_identity import MetadataAddress
from contracts.naming import labels
from contracts.pause import counted_from
from runtime.apply.intent import Intent
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import NETWORK_POLICY, ROLE, ROLE_BINDING, SERVICE_ACCOUNT
from runtime.types import Object, Resource, controller_of, is_terminating, time_of, uid_of

JobState = Literal["Active", "Succeeded", "Failed"]
# Longer than the start of a node and the pull of an image.
START_PATIENCE = timedelta(minutes=10)
# Longer than the longest activeDeadlineSeconds (contracts.builders.job) plus the grace period of a
# pod. A pod on a lost node never ends.
STOP_PATIENCE = timedelta(minutes=70)
JOB_NAME_LABEL = "batch.kubernetes.io/job-name"
"""Label that the Job controller sets on pods."""
_ENDS: Mapping[str, JobState] = {"Complete": "Succeeded", "Failed": "Failed"}
_ANNOUNCEMENTS = ("FailureTarget", "SuccessCriteriaMet")
"""Conditions that precede those of _ENDS while the pod still terminates."""
_ENDED_PODS = ("terminating", "failed", "succeeded", "uncountedTerminatedPods")
"""Fields that count pods which have ended or are being stopped; `ready` does not count them."""


@dataclass(frozen=True, slots=True)
class JobObservation:
    """Observed state of a Job.

    `foreign`: the run does not own it, so the other fields have no meaning. `ready`: its pod is
    ready; if the pod cannot start (no image, no capacity, a quota), the Job stays Active until its
    deadline. `stopping`: its pod has ended or is being stopped, and may still report. `reason` and
    `message` are those of Kubernetes (BackoffLimitExceeded, DeadlineExceeded), "" while the Job
    runs.
    """

    uid: str
    state: JobState
    foreign: bool = False
    ready: bool = False
    stopping: bool = False
    terminating: bool = False
    created_at: datetime | None = None
    finished_at: datetime | None = None
    reason: str = ""
    message: str = ""

    def unstarted(self, now: datetime, resumed: datetime | None = None) -> bool:
        """Return whether the pod did not start in time. `resumed`: end of the last pause.

        Only for a Job that has not ended and has reported nothing. A pod that is being stopped has
        more time, to report.
        """
        created_at = self.created_at
        patience = STOP_PATIENCE if self.stopping else START_PATIENCE
        return (
            self.state == "Active"
            and not self.ready
            and created_at is not None
            and now - counted_from(created_at, resumed) > patience
        )


def job_observation(job: Object, owner_uid: str) -> JobObservation:
    """Return the observed state of a Job for the run with the UID `owner_uid`."""
    status: Mapping[str, Any] = job.get("status") or {}
    conditions = status.get("conditions") or ()
    end = _first_true(conditions, _ENDS)
    controller = controller_of(job)
    observed = JobObservation(
        uid=uid_of(job),
        state="Active" if end is None else _ENDS[end["type"]],
        foreign=controller is None or controller.uid != owner_uid,
        ready=bool(status.get("ready")),
        stopping=_first_true(conditions, _ANNOUNCEMENTS) is not None
        or any(map(status.get, _ENDED_PODS)),
        terminating=is_terminating(job),
        created_at=time_of(job["metadata"].get("creationTimestamp")),
    )
    if end is None:
        return observed
    finished = status.get("completionTime") or end.get("lastTransitionTime")
    return replace(
        observed,
        ready=False,
        finished_at=time_of(finished),
        reason=end.get("reason") or "",
        message=end.get("message") or "",
    )


def _first_true(
    conditions: Sequence[Mapping[str, Any]], types: Collection[str]
) -> Mapping[str, Any] | None:
    return next(
        (c for c in conditions if c.get("type") in types and c.get("status") == "True"), None
    )


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of the pod of a run: read its object, write its status, get a cloud identity."""

    cluster: str
    """Name of the cluster, for the labels."""
    job: str
    """Name of the Job, and of the other objects."""
    account: str
    """ServiceAccount of the pod."""
    resource: Resource
    verbs: tuple[str, ...] = ("get", "patch")
    """Verbs on the status of the object; the pod always has `get` on the object."""
    metadata: tuple[MetadataAddress, ...] = ()
    """Addresses of the metadata service; empty for a run without a NetworkPolicy."""


def rights_objects(run: Owner, rights: Rights) -> tuple[Intent, ...]:
    """Build the objects of one run. Raises ValueError if the kind is not that of the run."""
    if rights.resource.group != GROUP or rights.resource.kind != run.kind:
        raise ValueError(f"{rights.resource.kind} is not the kind of the run, {run.kind}")
    metadata = {
        "name": rights.job,
        "namespace": run.namespace,
        "labels": labels.component(rights.cluster, component_of(rights.resource)),
    }
    rules = [
        _rule(run, rights.resource.plural, ("get",)),
        _rule(run, f"{rights.resource.plural}/status", rights.verbs),
    ]
    subject = {
        "kind": SERVICE_ACCOUNT.kind,
        "name": rights.account,
        "namespace": run.namespace,
    }
    reference = {"apiGroup": ROLE.group, "kind": ROLE.kind, "name": rights.job}
    role = {"apiVersion": ROLE.api_version, "kind": ROLE.kind, "metadata": metadata, "rules": rules}
    binding = {
        "apiVersion": ROLE_BINDING.api_version,
        "kind": ROLE_BINDING.kind,
        "metadata": metadata,
        "roleRef": reference,
        "subjects": [subject],
    }
    rbac = (Intent(ROLE, role), Intent(ROLE_BINDING, binding))
    return (*rbac, _metadata_policy(metadata, rights)) if rights.metadata else rbac


def _metadata_policy(metadata: Object, rights: Rights) -> Intent:
    """Build the policy that allows egress to the addresses, which the policy of all jobs denies."""
    selector = {**labels.base(rights.cluster), JOB_NAME_LABEL: rights.job}
    egress = [
        {
            "to": [{"ipBlock": {"cidr": str(ipaddress.ip_network(target.address))}}],
            "ports": [{"port": port, "protocol": "TCP"} for port in target.ports],
        }
        for target in rights.metadata
    ]
    spec = {
        "podSelector": {"matchLabels": selector},
        "policyTypes": ["Egress"],
        "egress": egress,
    }
    body = {"apiVersion": NETWORK_POLICY.api_version, "kind": NETWORK_POLICY.kind}
    return Intent(NETWORK_POLICY, {**body, "metadata": metadata, "spec": spec})


def component_of(resource: Resource) -> str:
    """Return the component label of the objects of a run of this kind."""
    return "restore" if resource == RESTORES else "backup"


def _rule(run: Owner, resource: str, verbs: tuple[str, ...]) -> Object:
    return {
        "apiGroups": [GROUP],
        "resources": [resource],
        "resourceNames": [run.name],
        "verbs": [*verbs],
    }
