"""An idle cluster causes no writes and no lists. A killed leader is reported in the status.

E2E_QUIET_SECONDS sets the length of the idle period; the default is the minute of a run in CI.
"""

import os
import time
from collections import Counter
from dataclasses import dataclass

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import labels, names
from e2e.conftest import MakeNamespace
from e2e.harness.audit import AuditLog, refusals, tally, writes
from e2e.harness.budgets import budget
from e2e.harness.clusters import Cluster, is_ready
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.manifests import key_value_engine, self_init
from e2e.harness.operator import Operator
from e2e.harness.waiting import throughout, until
from e2e.rig import Rig
from managers.context.reads.served_schemas import DOCUMENT
from managers.context.service_account_token import RENEW_AFTER
from runtime.builtin_kinds import EVENT
from runtime.types import labels_of, uid_of

NAME = "still"
REPORTER = "openbao.org/operator"
QUIET_SECONDS = float(os.environ.get("E2E_QUIET_SECONDS", "60"))
SETTLED_SECONDS = 5.0
# The status has to name the new leader and count the ready pods this soon after the pods change.
FRESH_SECONDS = 2.0
ELECTION_SECONDS = 60.0
# Metadata of Secrets is read by name, because the operator may not watch Secrets.
SECRETS = frozenset(
    {
        names.tls_ca_secret(NAME),
        names.tls_server_secret(NAME),
        names.unseal_key_secret(NAME),
    }
)
# Read every few minutes: the issuer of the tokens that the operator logs in with, and the schemas.
EVERY_FEW_MINUTES = frozenset({"/.well-known/openid-configuration", "/openid/v1/jwks", DOCUMENT})
BRING_UP_EVENTS = {"Initialized": 1, "AllReplicasReady": 1, "AllVoters": 1}


@pytest.fixture(scope="module")
def cluster(api: Api, make_namespace: MakeNamespace, operator: Operator) -> Cluster:
    """Three voters, after the creation is complete."""
    namespace = make_namespace()
    body = manifest(namespace, NAME, replicas=3, selfInit=self_init(key_value_engine()))
    api.create(CLUSTERS, body)
    cluster = Cluster(api, namespace, NAME)
    cluster.await_available()
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    return cluster


def event_counts(cluster: Cluster) -> Counter[str]:
    """Count the operator's events about the cluster, by reason."""
    return Counter(
        str(event["reason"])
        for event in cluster.api.list(EVENT, cluster.namespace)
        if event.get("reportingController") == REPORTER
    )


def test_the_creation_of_a_cluster_emits_three_events(cluster: Cluster) -> None:
    until(
        "the cluster has its events",
        lambda: event_counts(cluster) >= Counter(BRING_UP_EVENTS),
        10.0,
    )
    assert dict(event_counts(cluster)) == BRING_UP_EVENTS


@pytest.mark.timeout(int(QUIET_SECONDS) + 300)
def test_an_idle_cluster_causes_no_writes_and_no_lists(
    cluster: Cluster, audit: AuditLog, controller: Identity
) -> None:
    def silent() -> bool:
        mark = audit.mark()
        time.sleep(SETTLED_SECONDS)
        return not writes(audit.since(mark, controller.user))

    until("the operator writes nothing", silent, 60.0)
    version = cluster.live()["metadata"]["resourceVersion"]
    mark = audit.mark()
    throughout(
        "the operator writes nothing",
        lambda: not writes(audit.since(mark, controller.user)),
        QUIET_SECONDS,
        every=1.0,
    )
    requests = audit.since(mark, controller.user)
    print(f"\nin {QUIET_SECONDS:.0f} quiet seconds: {tally(requests)}")
    assert not [entry for entry in requests if entry.verb == "list"]
    tokens = [entry for entry in requests if entry.makes_token]
    budget("tokens while quiet", len(tokens), 1 + QUIET_SECONDS // RENEW_AFTER, "tokens")
    reads = [
        entry
        for entry in requests
        if entry.verb != "watch" and entry.uri not in EVERY_FEW_MINUTES and not entry.makes_token
    ]
    assert {(entry.verb, entry.resource) for entry in reads} <= {("get", "secrets")}
    assert {entry.name for entry in reads} <= SECRETS
    assert cluster.live()["metadata"]["resourceVersion"] == version
    assert dict(event_counts(cluster)) == BRING_UP_EVENTS


@dataclass(slots=True)
class Observations:
    """Times at which changes were first observed, in seconds of the monotonic clock."""

    outage: float | None = None
    """The pod of the former leader is not ready, or was replaced."""
    outage_report: float | None = None
    """The status counts two ready pods."""
    label: float | None = None
    """Another pod has the label of the active node."""
    label_report: float | None = None
    """The status names the new leader."""

    def observe(self, cluster: Cluster, former: str) -> bool:
        """Read the pods first, so that the status is never compared with later pods."""
        pods = cluster.pods()
        now = time.monotonic()
        new = [pod["metadata"]["name"] for pod in pods if leads(pod) and uid_of(pod) != former]
        if self.label is None and new:
            self.label = now
        if self.outage is None and sum(map(is_ready, pods)) < 3:
            self.outage = now
        status = cluster.live()["status"]
        now = time.monotonic()
        if self.label_report is None and new and status.get("activeLeader") in new:
            self.label_report = now
        if self.outage_report is None and status.get("readyReplicas") == 2:
            self.outage_report = now
        return None not in (self.outage, self.outage_report, self.label, self.label_report)


def leads(pod: dict[str, object]) -> bool:
    """Whether the pod has the label of the active node."""
    return labels_of(pod).get(labels.SERVER_ACTIVE) == "true"


def test_the_status_follows_a_killed_leader_within_two_seconds(
    cluster: Cluster, rig: Rig, audit: AuditLog, controller: Identity
) -> None:
    leader = cluster.leader()
    assert leader is not None
    name = leader["metadata"]["name"]
    mark, observations = audit.mark(), Observations()
    # With a grace period of 0 the object would be deleted before its process ends.
    rig.kubectl("-n", cluster.namespace, "delete", "pod", name, "--grace-period=1", "--wait=false")
    until(
        "the status reports the lost and the new leader",
        lambda: observations.observe(cluster, uid_of(leader)),
        ELECTION_SECONDS,
        every=0.02,
    )
    assert observations.label is not None
    assert observations.label_report is not None
    assert observations.outage is not None
    assert observations.outage_report is not None
    named, counted = (
        observations.label_report - observations.label,
        observations.outage_report - observations.outage,
    )
    print(f"\nnew leader named {named:.2f} s after its label, readiness {counted:.2f} s after")
    budget("new leader named", named, FRESH_SECONDS, "s")
    budget("lost readiness counted", counted, FRESH_SECONDS, "s")
    cluster.await_available()
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    cost = [entry for entry in audit.since(mark, controller.user) if entry.verb != "watch"]
    print(f"a killed leader costs {len(cost)} requests: {tally(cost)}")


def test_a_killed_leader_emits_one_warning_and_one_recovery_event(cluster: Cluster) -> None:
    """Available and Degraded change together, with the same message, in one event."""
    until("the recovery event is sent", lambda: event_counts(cluster)["Ready"], 10.0)
    news = event_counts(cluster) - Counter(BRING_UP_EVENTS)
    print(f"\n{dict(news)}")
    # AllReplicasReady was reported at the creation, and is not repeated within ten minutes.
    del news["AllReplicasReady"]
    assert news == Counter({"NotReady": 1, "Ready": 1})


def test_no_event_was_refused(audit: AuditLog, controller: Identity, cluster: Cluster) -> None:
    here = [e for e in audit.since(0, controller.user) if e.namespace == cluster.namespace]
    sent = [entry for entry in here if entry.resource == "events"]
    assert sent, cluster.name
    assert {entry.code for entry in sent} == {201}
    assert not refusals(here)
