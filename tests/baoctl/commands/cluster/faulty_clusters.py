"""Clusters with one fault each, which `test_findings` diagnoses."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from baoctl.commands.cluster.observed import ClusterObservation, Operator
from contracts.naming import labels
from runtime.types import Object
from tests.baoctl.commands.cluster.recorded_cluster import (
    healthy,
    lease,
    with_condition,
    with_pod,
    with_spec,
    with_status,
)

SYSTEM = "openbao-operator-system"


def event(reason: str, note: str, about: str = "StatefulSet", **more: object) -> Object:
    return {
        "type": "Warning", "reason": reason, "message": note,
        "involvedObject": {"kind": about, "name": "first"}, **more,
    }  # fmt: skip


def not_ready(
    observation: ClusterObservation, message: str = "1 of 3 servers are ready"
) -> ClusterObservation:
    return with_condition(observation, "Ready", "False", "NotReady", message)


def seal_secret_missing() -> ClusterObservation:
    observation = not_ready(with_pod(healthy(), 0))
    text = "Secret first-unseal-key does not exist, and the cluster has data"
    return with_condition(observation, "Stalled", "True", "UnsealKeyMissing", text)


def seal_secret_missing_while_the_operator_is_silent() -> ClusterObservation:
    return replace(healthy(), secrets=("first-root-token", "first-tls-server"))


def wrong_seal_secret() -> ClusterObservation:
    return with_condition(healthy(), "Stalled", "True", "UnsealKeyChanged", "the content differs")


def no_quorum() -> ClusterObservation:
    return not_ready(with_pod(with_pod(healthy(), 1), 2))


def expired_certificate() -> ClusterObservation:
    return with_condition(
        no_quorum(), "TLSReady", "True", "Ready", "The server certificate is valid until 2026-11-20"
    )


def certificate_that_ended_today() -> ClusterObservation:
    text = "Secret first-tls-server: tls.crt expired at 2026-11-26T11:59:00+00:00: replace it"
    observation = with_condition(healthy(), "TLSReady", "False", "TLSSecretInvalid", text)
    return with_condition(observation, "Stalled", "True", "TLSSecretInvalid", text)


def refusal_before_there_is_a_certificate() -> ClusterObservation:
    observation = with_condition(
        healthy(), "TLSReady", "False", "TLSSecretMissing", "it is not there yet"
    )
    return with_condition(
        observation, "Stalled", "True", "ImageVersionMismatch", "the tag is another version"
    )


def crashed(text: str) -> ClusterObservation:
    crash = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}
    ended = {"terminated": {"exitCode": 1, "reason": "Error", "message": text}}
    return not_ready(with_pod(with_pod(healthy(), 1), 2, state=crash, lastState=ended))


def full_volume() -> ClusterObservation:
    return crashed("a\nwrite: no space left on device\n")


def image_that_cannot_be_pulled() -> ClusterObservation:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}
    return not_ready(with_pod(with_pod(healthy(), 1), 2, state=waiting, image="r.test/bao:9"))


def policy_missing() -> ClusterObservation:
    text = "ValidatingAdmissionPolicy openbao-operator-x is missing"
    return with_condition(healthy(), "ProductionReady", "False", "AdmissionPoliciesMissing", text)


def no_policy_at_all() -> ClusterObservation:
    observation = with_spec(healthy(), profile="Hardened")
    return replace(observation, operator=Operator(SYSTEM, lease=lease(), policies=("other",)))


def policy_without_a_binding() -> ClusterObservation:
    observation = with_spec(healthy(), profile="Hardened")
    names = ("openbao-operator-x", "openbao-operator-y")
    operator = Operator(SYSTEM, lease=lease(), policies=names, bindings=("openbao-operator-x",))
    return replace(observation, operator=operator)


def operator_silent() -> ClusterObservation:
    silent = Operator(SYSTEM, lease=lease(timedelta(minutes=10)))
    return replace(with_pod(with_pod(healthy(), 1), 2), operator=silent)


def operator_without_pods() -> ClusterObservation:
    deployment: Object = {"spec": {"replicas": 2}, "status": {}}
    return replace(healthy(), operator=Operator(SYSTEM, deployment=deployment))


def operator_scaled_away() -> ClusterObservation:
    deployment: Object = {"spec": {"replicas": 0}, "status": {}}
    return replace(healthy(), operator=Operator(SYSTEM, deployment=deployment))


def webhook_refuses() -> ClusterObservation:
    note = 'create Pod first-2 failed: admission webhook "x.example.com" denied the request: no'
    observation = replace(not_ready(healthy()), events=(event("FailedCreate", note),))
    return replace(observation, pods=observation.pods[:1])


def webhook_does_not_answer() -> ClusterObservation:
    text = 'create Service first: 500: failed calling webhook "x.example.com": connection refused'
    return with_condition(healthy(), "Degraded", "True", "Retrying", text)


def expired_pause() -> ClusterObservation:
    since = {"lastTransitionTime": "2026-11-23T12:00:00Z"}
    observation = with_condition(
        with_spec(healthy(), paused=True), "Paused", "True", "Paused", "paused", **since
    )
    return with_condition(observation, "Ready", "Unknown", "Paused", "spec.paused is true")


HELD = {
    "operation": "Backup", "holder": "openbaobackup/monday", "epoch": 3,
    "acquiredAt": "2026-11-26T11:58:00Z", "renewedAt": "2026-11-26T11:59:00Z",
}  # fmt: skip


def lock_of_deleted_backup() -> ClusterObservation:
    return replace(with_status(healthy(), operationLock=HELD), lock_holder_exists=False)


def lock_that_is_not_renewed() -> ClusterObservation:
    silent = {**HELD, "renewedAt": "2026-11-26T09:00:00Z"}
    return replace(with_status(healthy(), operationLock=silent), lock_holder_exists=True)


def unschedulable() -> ClusterObservation:
    pod = with_pod(with_pod(healthy(), 1), 2)
    pods = list(pod.pods)
    held = {
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/1 nodes are available",
    }  # fmt: skip
    pods[2] = {**pods[2], "status": {"phase": "Pending", "conditions": [held]}}
    return not_ready(replace(pod, pods=tuple(pods)))


def quota_exceeded() -> ClusterObservation:
    note = 'create Pod first-2 failed: pods "first-2" is forbidden: exceeded quota: small'
    observation = not_ready(healthy(), "2 of 3 servers are ready")
    refused: Object = {
        "metadata": {"name": "first"}, "spec": {"replicas": 3}, "status": {"replicas": 2},
    }  # fmt: skip
    return replace(
        observation,
        pods=observation.pods[:2],
        stateful_sets=(refused,),
        events=(event("FailedCreate", note),),
    )


def volume_without_a_class() -> ClusterObservation:
    observation = with_pod(not_ready(healthy()), 2)
    held = {
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims",
    }  # fmt: skip
    pending = {**observation.pods[2], "status": {"phase": "Pending", "conditions": [held]}}
    claim: Object = {"metadata": {"name": "data-first-2"}, "status": {"phase": "Pending"}}
    why = {**event("ProvisioningFailed", "storageclass nope not found", "PersistentVolumeClaim")}
    why["involvedObject"] = {"kind": "PersistentVolumeClaim", "name": "data-first-2"}
    return replace(
        observation, pods=(*observation.pods[:2], pending), claims=(claim,), events=(why,)
    )


def with_empty_volume(observation: ClusterObservation, ordinal: int) -> ClusterObservation:
    pods = list(with_pod(observation, ordinal).pods)
    metadata = pods[ordinal]["metadata"]
    registered = {labels.SERVER_SEALED: "true", labels.SERVER_INITIALIZED: "false"}
    metadata["labels"] = {**metadata["labels"], **registered}
    return replace(observation, pods=tuple(pods))


def lost_majority() -> ClusterObservation:
    return not_ready(with_empty_volume(with_empty_volume(healthy(), 1), 2))


def lacks_a_right() -> ClusterObservation:
    text = (
        '403 Forbidden: services "first" is forbidden: User "system:serviceaccount:o:controller" '
        'cannot get resource "services" in API group "" in the namespace "bench"'
    )
    return with_condition(healthy(), "Ready", "Unknown", "TransientError", text)


def failing_requests() -> ClusterObservation:
    text = "504 Timeout: the API server does not respond"
    return with_condition(healthy(), "Ready", "Unknown", "TransientError", text)


def webhook_that_hangs() -> ClusterObservation:
    text = "PATCH /apis/apps/v1/namespaces/x/statefulsets/first: no response within 3 s"
    return with_condition(healthy(), "Ready", "Unknown", "TransientError", text)


def without_network() -> ClusterObservation:
    text = "The operator cannot connect to port 8200 of first-0"
    observation = with_condition(healthy(), "TLSReady", "Unknown", "Unknown", text)
    text = "first-0 did not report the members: the server has not answered since 12:00"
    return with_condition(observation, "RaftMembershipReady", "Unknown", "MembershipUnknown", text)


def unobserved_spec() -> ClusterObservation:
    observation = with_status(healthy(), observedGeneration=1)
    metadata = {**observation.cluster["metadata"], "generation": 2}
    return replace(observation, cluster={**observation.cluster, "metadata": metadata})


def in_deletion(*finalizers: str) -> ClusterObservation:
    observation = unobserved_spec()
    metadata = {
        **observation.cluster["metadata"],
        "deletionTimestamp": "2026-11-26T11:00:00Z",
        "finalizers": list(finalizers),
    }
    return replace(observation, cluster={**observation.cluster, "metadata": metadata})


def not_ready_for_another_reason() -> ClusterObservation:
    return with_condition(healthy(), "Ready", "False", "RollingOut", "3 of 3 pods are older")
