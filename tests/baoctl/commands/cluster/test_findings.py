"""baoctl doctor on broken clusters: it names the cause first, and what to do next."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from baoctl.commands.cluster.findings import CHECKS, diagnose
from baoctl.commands.cluster.observed import ClusterObservation, Operator
from contracts.naming import labels
from runtime.types import Object
from tests.baoctl.commands.cluster.looks import (
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
        "type": "Warning", "reason": reason, "note": note,
        "regarding": {"kind": about, "name": "first"}, **more,
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


def full_volume() -> ClusterObservation:
    crash = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}
    text = "a\nwrite: no space left on device\n"
    ended = {"terminated": {"exitCode": 1, "reason": "Error", "message": text}}
    return not_ready(with_pod(with_pod(healthy(), 1), 2, state=crash, lastState=ended))


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


def lock_of_nobody() -> ClusterObservation:
    return replace(with_status(healthy(), operationLock=HELD), lock_holder_exists=False)


def lock_of_a_silent_holder() -> ClusterObservation:
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


# sentence: (cluster, words of the first finding, words of its command)
BROKEN: dict[str, tuple[ClusterObservation, str, str]] = {
    "the seal Secret is missing": (seal_secret_missing(), "key of the seal", "describe"),
    "the seal Secret is missing, as the API server lists them": (
        seal_secret_missing_while_the_operator_is_silent(), "first-unseal-key", "get secret",
    ),
    "the seal Secret is another one": (wrong_seal_secret(), "key of the seal", "describe"),
    "no quorum": (no_quorum(), "no quorum", "logs first-1"),
    "expired certificate": (expired_certificate(), "certificate of the servers has expired", "tls"),
    "a certificate that ended today": (
        certificate_that_ended_today(), "certificate of the servers has expired", "tls-server",
    ),
    "no certificate, because the operator refuses the cluster": (
        refusal_before_there_is_a_certificate(), "ImageVersionMismatch", "explain",
    ),
    "full volume": (full_volume(), "volume of first-2 is full", "storage"),
    "image that cannot be pulled": (
        image_that_cannot_be_pulled(), "r.test/bao:9 cannot be pulled", "describe pod first-2",
    ),
    "policy missing": (policy_missing(), "Admission policies", "validatingadmissionpolicies"),
    "no policy at all": (no_policy_at_all(), "Admission policies", "validatingadmissionpolicies"),
    "policy without a binding": (
        policy_without_a_binding(), "Admission policies", "validatingadmissionpolicybindings",
    ),
    "operator silent": (operator_silent(), "operator is down", SYSTEM),
    "operator without pods": (operator_without_pods(), "operator is down", "describe pods"),
    "operator scaled away": (operator_scaled_away(), "operator is down", "--replicas=1"),
    "webhook refuses": (webhook_refuses(), "admission rule refuses", "webhook"),
    "webhook that does not answer": (
        webhook_does_not_answer(), "admission rule refuses", "webhook",
    ),
    "paused and forgotten": (expired_pause(), "paused for 3d", "bao resume first"),
    "lock of nobody": (lock_of_nobody(), "lock of openbaobackup/monday is stale", "openbaobackups"),
    "lock of a silent holder": (lock_of_a_silent_holder(), "is stale", "openbaobackups"),
    "no node": (unschedulable(), "cannot be scheduled", "describe pod first-2"),
}  # fmt: skip


@pytest.mark.parametrize(("observation", "cause", "command"), BROKEN.values(), ids=BROKEN.keys())
def test_the_cause_comes_first_with_its_next_command(
    observation: ClusterObservation, cause: str, command: str
) -> None:
    first = diagnose(observation)[0]
    assert cause in first.cause
    assert command in first.command
    assert first.evidence
    assert first.next_step


def test_a_cluster_that_is_well_has_no_findings() -> None:
    assert diagnose(healthy()) == ()


# sentence: a cluster in which that is no finding
FINE: dict[str, ClusterObservation] = {
    "a lock whose holder works": replace(
        with_status(healthy(), operationLock=HELD), lock_holder_exists=True
    ),
    "a right to list Secrets that is missing": replace(healthy(), secrets=None),
    "pods that may not be read": replace(healthy(), pods=(), denied=("pods",)),
    "nothing known of the operator": replace(healthy(), operator=None),
    "an old refusal": replace(
        healthy(),
        events=(
            event("FailedCreate", "denied the request", eventTime="2026-11-26T09:00:00Z"),
        ),
    ),
    "the last day of a certificate": with_condition(
        healthy(), "TLSReady", "True", "Ready", "The server certificate is valid until 2026-11-26"
    ),
    "a schedule of backups whose time has not come": with_condition(
        healthy(), "BackupHealthy", "Unknown", "NoBackupYet", "the first one is due tomorrow"
    ),
    "policies that bindings put into force": replace(
        with_spec(healthy(), profile="Hardened"),
        operator=Operator(
            SYSTEM, lease=lease(), policies=("openbao-x",), bindings=("openbao-x", "another")
        ),
    ),
    "hibernation": replace(with_spec(healthy(), hibernate=True), pods=()),
}  # fmt: skip


@pytest.mark.parametrize("observation", FINE.values(), ids=FINE.keys())
def test_what_is_fine_or_not_known_is_no_finding(observation: ClusterObservation) -> None:
    assert diagnose(observation) == ()


def test_a_sealed_server_says_why_itself() -> None:
    observation = with_pod(healthy(), 0)
    pod = observation.pods[0]
    sealed = {**pod["metadata"]["labels"], labels.SERVER_SEALED: "true"}
    pods = ({**pod, "metadata": {**pod["metadata"], "labels": sealed}}, *observation.pods[1:])
    line = "[WARN] failed to unseal core: message authentication failed"
    observation = replace(observation, pods=pods, logs={"first-0": f"started\n{line}\nstarted"})
    assert diagnose(observation)[0].cause == "Servers are sealed: first-0"
    assert diagnose(observation)[0].evidence == line


def test_a_reason_of_several_conditions_is_one_finding() -> None:
    observation = with_condition(
        certificate_that_ended_today(), "Available", "False", "NotInitialized", "a"
    )
    observation = with_condition(observation, "OpenBaoLeader", "Unknown", "NotInitialized", "b")
    assert [finding.reason for finding in diagnose(observation)] == [
        "TLSSecretInvalid",
        "NotInitialized",
    ]


def test_a_cluster_without_a_status_is_told() -> None:
    seen = replace(healthy(), cluster={**healthy().cluster, "status": {}})
    assert "has not reconciled" in diagnose(seen)[0].cause


def test_objects_that_are_anything_are_no_traceback() -> None:
    odd = {"metadata": {"name": "x", "namespace": 5}, "spec": 7, "status": {"conditions": [3, {}]}}
    seen = replace(healthy(), cluster=odd, pods=({"metadata": {"name": "x-0"}, "status": []},))
    assert isinstance(diagnose(seen), tuple)


def test_every_check_has_a_question() -> None:
    assert all(check.question.endswith("?") for check in CHECKS)
    assert len({check.name for check in CHECKS}) == len(CHECKS)
