"""baoctl doctor on clusters with faults: the cause is first, with the next step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from baoctl.commands.cluster.findings import CHECKS, diagnose
from baoctl.commands.cluster.observed import ClusterObservation, Operator
from contracts.naming import labels
from contracts.naming.names import FINALIZER
from tests.baoctl.commands.cluster.faulty_clusters import (
    HELD,
    SYSTEM,
    certificate_that_ended_today,
    crashed,
    event,
    expired_certificate,
    expired_pause,
    failing_requests,
    full_volume,
    image_that_cannot_be_pulled,
    in_deletion,
    lacks_a_right,
    lock_of_deleted_backup,
    lock_that_is_not_renewed,
    lost_majority,
    no_policy_at_all,
    no_quorum,
    not_ready,
    not_ready_for_another_reason,
    operator_scaled_away,
    operator_silent,
    operator_without_pods,
    policy_missing,
    policy_without_a_binding,
    quota_exceeded,
    refusal_before_there_is_a_certificate,
    seal_secret_missing,
    seal_secret_missing_while_the_operator_is_silent,
    unobserved_spec,
    unschedulable,
    volume_without_a_class,
    webhook_does_not_answer,
    webhook_refuses,
    webhook_that_hangs,
    with_empty_volume,
    without_network,
    wrong_seal_secret,
)
from tests.baoctl.commands.cluster.recorded_cluster import (
    healthy,
    lease,
    with_condition,
    with_pod,
    with_spec,
    with_status,
)

# sentence: (cluster, part of the first finding, part of its command)
BROKEN: dict[str, tuple[ClusterObservation, str, str]] = {
    "the seal Secret is missing": (seal_secret_missing(), "key of the seal", "describe"),
    "the seal Secret is missing from the list": (
        seal_secret_missing_while_the_operator_is_silent(), "first-unseal-key", "get secret",
    ),
    "the content of the seal Secret differs": (wrong_seal_secret(), "key of the seal", "describe"),
    "no quorum": (no_quorum(), "no quorum", "logs first-1"),
    "expired certificate": (expired_certificate(), "certificate of the servers has expired", "tls"),
    "a certificate that ended today": (
        certificate_that_ended_today(), "certificate of the servers has expired", "tls-server",
    ),
    "no certificate, because the operator refuses the cluster": (
        refusal_before_there_is_a_certificate(), "ImageVersionMismatch", "explain",
    ),
    "full volume": (full_volume(), "volume of first-2 is full", "storage"),
    "a server that crashes": (crashed("panic"), "first-2 crashes", "logs first-2 --previous"),
    "image that cannot be pulled": (
        image_that_cannot_be_pulled(), "r.test/bao:9 cannot be pulled", "describe pod first-2",
    ),
    "policy missing": (policy_missing(), "Admission policies", "validatingadmissionpolicies"),
    "no admission policy": (
        no_policy_at_all(), "Admission policies", "validatingadmissionpolicies",
    ),
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
    "a pause of three days": (expired_pause(), "paused for 3d", "bao resume first"),
    "a lock of a deleted backup": (
        lock_of_deleted_backup(), "lock of openbaobackup/monday is stale", "openbaobackups",
    ),
    "a lock that is not renewed": (lock_that_is_not_renewed(), "is stale", "openbaobackups"),
    "no node": (unschedulable(), "cannot be scheduled", "describe pod first-2"),
    "quota exceeded": (quota_exceeded(), "refuses to create", "describe statefulset first"),
    "a volume without a StorageClass": (
        volume_without_a_class(), "data-first-2 is Pending", "describe pvc data-first-2",
    ),
    "a majority of empty volumes": (lost_majority(), "no quorum", "logs first-1"),
    "a missing right": (
        lacks_a_right(), "lacks the right to get services",
        "can-i get services --as=system:serviceaccount:o:controller -n bench",
    ),
    "a webhook that times out": (
        webhook_that_hangs(), "does not respond to a write", "mutatingwebhookconfigurations",
    ),
    "an operator without network access": (
        without_network(), "cannot connect", "get networkpolicies",
    ),
    "failing requests": (failing_requests(), "Requests of the operator fail", "logs"),
    "a spec that was not reconciled": (unobserved_spec(), "last change of the spec", "logs"),
    "a finalizer of another controller": (
        in_deletion(FINALIZER, "example.com/keep"), "is being deleted", "describe",
    ),
    "not ready for another reason": (not_ready_for_another_reason(), "not ready", "describe"),
}  # fmt: skip


@pytest.mark.parametrize(("observation", "cause", "command"), BROKEN.values(), ids=BROKEN.keys())
def test_the_first_finding_is_the_cause_with_a_command(
    observation: ClusterObservation, cause: str, command: str
) -> None:
    first = diagnose(observation)[0]
    assert cause in first.cause
    assert command in first.command
    assert first.evidence
    assert first.next_step


def test_a_healthy_cluster_has_no_findings() -> None:
    assert diagnose(healthy()) == ()


# sentence: a cluster without findings
FINE: dict[str, ClusterObservation] = {
    "a lock that is renewed": replace(
        with_status(healthy(), operationLock=HELD), lock_holder_exists=True
    ),
    "a missing right to list Secrets": replace(healthy(), secrets=None),
    "a missing right to read pods": replace(healthy(), pods=(), denied=("pods",)),
    "an unknown state of the operator": replace(healthy(), operator=None),
    "an old rejected request": replace(
        healthy(),
        events=(
            event("FailedCreate", "denied the request", eventTime="2026-11-26T09:00:00Z"),
        ),
    ),
    "a certificate in its last day": with_condition(
        healthy(), "TLSReady", "True", "Ready", "The server certificate is valid until 2026-11-26"
    ),
    "a schedule without a due backup": with_condition(
        healthy(), "BackupHealthy", "Unknown", "NoBackupYet", "the first one is due tomorrow"
    ),
    "policies with bindings": replace(
        with_spec(healthy(), profile="Hardened"),
        operator=Operator(
            SYSTEM, lease=lease(), policies=("openbao-x",), bindings=("openbao-x", "another")
        ),
    ),
    "servers that are not created yet": with_spec(healthy(), replicas=7),
    "hibernation": replace(with_spec(healthy(), hibernate=True), pods=()),
}  # fmt: skip


@pytest.mark.parametrize("observation", FINE.values(), ids=FINE.keys())
def test_a_normal_or_unknown_state_is_not_a_finding(observation: ClusterObservation) -> None:
    assert diagnose(observation) == ()


def test_consequences_of_stopped_servers_are_omitted() -> None:
    observation = quota_exceeded()
    for condition in ("Available", "OpenBaoLeader"):
        observation = with_condition(observation, condition, "False", "NotReady", "2 of 3")
    (finding,) = diagnose(observation)
    assert "exceeded quota: small" in finding.evidence


def test_consequences_of_a_lost_connection_are_omitted() -> None:
    (finding,) = diagnose(without_network())
    assert "port 8200 of first-0" in finding.evidence


def test_a_deletion_names_the_finalizer_of_another_controller() -> None:
    (finding,) = diagnose(in_deletion(FINALIZER, "example.com/keep"))
    assert "deletion began 60m ago" in finding.evidence
    assert "controller of example.com/keep" in finding.next_step
    (finding,) = diagnose(in_deletion(FINALIZER))
    assert "operator log" in finding.next_step


def test_an_empty_volume_is_not_reported_as_a_seal_error() -> None:
    (finding,) = diagnose(lost_majority())
    assert "with an empty volume: first-1, first-2" in finding.evidence
    assert "new cluster" in finding.next_step
    one = diagnose(with_empty_volume(healthy(), 2))
    assert [finding.cause for finding in one] == ["Servers are sealed: first-2"]


def test_the_command_for_a_lost_quorum_works_without_pods() -> None:
    (finding,) = diagnose(replace(not_ready(healthy()), pods=()))
    assert "missing pods: 3" in finding.evidence
    assert "logs" not in finding.command


def test_the_finding_for_a_sealed_server_quotes_its_log() -> None:
    observation = with_pod(healthy(), 0)
    pod = observation.pods[0]
    sealed = {**pod["metadata"]["labels"], labels.SERVER_SEALED: "true"}
    pods = ({**pod, "metadata": {**pod["metadata"], "labels": sealed}}, *observation.pods[1:])
    line = "[WARN] failed to unseal core: message authentication failed"
    observation = replace(observation, pods=pods, logs={"first-0": f"started\n{line}\nstarted"})
    assert diagnose(observation)[0].cause == "Servers are sealed: first-0"
    assert diagnose(observation)[0].evidence == line


def test_several_conditions_with_one_reason_are_one_finding() -> None:
    observation = with_condition(
        certificate_that_ended_today(), "Available", "False", "NotInitialized", "a"
    )
    observation = with_condition(observation, "OpenBaoLeader", "Unknown", "NotInitialized", "b")
    assert [finding.reason for finding in diagnose(observation)] == [
        "TLSSecretInvalid",
        "NotInitialized",
    ]


def test_a_cluster_without_a_status_is_a_finding() -> None:
    seen = replace(healthy(), cluster={**healthy().cluster, "status": {}})
    assert "has not reconciled" in diagnose(seen)[0].cause


def test_malformed_objects_cause_no_traceback() -> None:
    odd = {"metadata": {"name": "x", "namespace": 5}, "spec": 7, "status": {"conditions": [3, {}]}}
    seen = replace(healthy(), cluster=odd, pods=({"metadata": {"name": "x-0"}, "status": []},))
    assert isinstance(diagnose(seen), tuple)


def test_every_check_has_a_description() -> None:
    assert all(check.question.endswith("?") for check in CHECKS)
    assert len({check.name for check in CHECKS}) == len(CHECKS)
