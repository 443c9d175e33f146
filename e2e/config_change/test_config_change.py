"""Configuration changes of a cluster of three servers, under load."""

from collections.abc import Iterator

import orjson
import pytest
import yaml

from baoctl.commands.assumed import RenderOptions
from baoctl.commands.render import render
from baoctl.installation_settings import SECRET_RECHECK
from contracts.api.group import CLUSTERS
from contracts.naming import labels
from e2e.conftest import MakeNamespace
from e2e.demo.objects import name_of
from e2e.harness.budgets import budget
from e2e.harness.clusters import Cluster
from e2e.harness.command_line import CommandLine
from e2e.harness.installation import ACCOUNT
from e2e.harness.installation import NAMESPACE as OPERATOR_NAMESPACE
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import client_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import IMAGE_REPOSITORY, Operator
from e2e.harness.rolls import ROLL_SECONDS, log_of, ready_uids
from e2e.harness.upgrades import change
from e2e.harness.waiting import Stopwatch, throughout, until
from e2e.harness.writing import Writer, may_write
from managers.context.installation import Installation
from managers.context.reads.api_server import api_endpoints
from runtime.apply.intent import contains
from runtime.builtin_kinds import (
    CONFIG_MAP,
    ENDPOINT_SLICE,
    EVENT,
    NETWORK_POLICY,
    POD_DISRUPTION_BUDGET,
    ROLE,
    ROLE_BINDING,
    SERVICE,
    SERVICE_ACCOUNT,
    STATEFUL_SET,
)
from runtime.types import uid_of

NAME = "change"
RENDERED = {
    resource.kind: resource
    for resource in (
        CONFIG_MAP,
        NETWORK_POLICY,
        POD_DISRUPTION_BUDGET,
        ROLE,
        ROLE_BINDING,
        SERVICE,
        SERVICE_ACCOUNT,
        STATEFUL_SET,
    )
}
RELOAD_SECONDS = 150.0
# A step-down takes a second or two, a killed leader some ten. More for a busy machine.
GAP_SECONDS = 25.0
RELOADED = "OpenBao reload triggered"
DEBUG = "[DEBUG]"
# More than the maximum lease TTL of a server (768h): it exits with an error at its start, and the
# CRD has no rule for it.
CRASHING = "1000h"


@pytest.fixture(scope="module")
def cluster(api: Api, make_namespace: MakeNamespace, reloading_operator: Operator) -> Cluster:
    """Three servers that are Available, and a client that may write."""
    namespace = make_namespace()
    requests = (key_value_engine(), *client_login(namespace))
    api.create(CLUSTERS, manifest(namespace, NAME, replicas=3, selfInit=self_init(*requests)))
    cluster = Cluster(api, namespace, NAME)
    may_write(cluster)
    cluster.await_available(120.0)
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    return cluster


@pytest.fixture
def writer(cluster: Cluster) -> Iterator[Writer]:
    """A client that writes throughout the test; afterwards, no acknowledged write is lost."""
    with Writer(cluster) as writer:
        yield writer
    print(f"  {len(writer.acknowledged)} writes, longest gap {writer.longest_gap:.1f} s")
    assert writer.acknowledged
    assert writer.lost() == []
    budget("longest gap of a client", writer.longest_gap, GAP_SECONDS, "s")


@pytest.mark.timeout(400)
def test_the_log_level_is_reloaded_without_a_restart(cluster: Cluster, writer: Writer) -> None:
    before = cluster.pod_uids()
    for pod in cluster.pods():
        assert DEBUG not in log_of(cluster, name_of(pod)), name_of(pod)
    level = {"configuration": {"logLevel": "debug"}}
    assert effects(cluster, level) == {NAME: "reload"}
    watch = Stopwatch()
    change(cluster, level)
    cluster.await_available(RELOAD_SECONDS)
    print(f"  {watch.seconds:.1f} s: every server has reloaded its log level")
    pods = cluster.pods()
    assert {uid_of(pod) for pod in pods} == before
    for pod in pods:
        assert RELOADED in log_of(cluster, name_of(pod)), f"{name_of(pod)} was not reloaded"
        until_debug(cluster, pod)
    assert [pod["status"]["containerStatuses"][0]["restartCount"] for pod in pods] == [0, 0, 0]
    # Events are written asynchronously.
    until("three events of reloads exist", lambda: events_of(cluster, "PodReloaded") == 3, 30.0)
    assert events_of(cluster, "PodReplaced") == 0


def effects(cluster: Cluster, spec: Object) -> dict[str, str]:
    """Return what `baoctl plan` expects of an edit, by StatefulSet."""
    live = cluster.live()
    metadata = {"name": cluster.name, "namespace": cluster.namespace}
    manifest_of = {"metadata": metadata, "spec": {**live["spec"], **spec}}
    body = {key: live[key] for key in ("apiVersion", "kind")} | manifest_of
    verb = ("plan", "-f", "-", "-o", "json")
    done = CommandLine(cluster.api.rig).run(*verb, input=orjson.dumps(body).decode())
    assert done.status == 0, done.err
    (plan,) = orjson.loads(done.out)
    return {pod["statefulSet"]: pod["effect"] for pod in plan["pods"]}


def until_debug(cluster: Cluster, pod: Object) -> None:
    """Wait for a line of the new level: the end of a reload logs one.

    It may be before the line of the start of the reload, which the server writes to another stream.
    """
    until(
        f"{name_of(pod)} logs at the new level",
        lambda: DEBUG in log_of(cluster, name_of(pod)),
        60.0,
    )


@pytest.mark.timeout(500)
def test_a_rollout_stops_at_a_failing_pod_and_continues_after_the_repair(
    cluster: Cluster, writer: Writer
) -> None:
    """`baoctl plan` reports that the repaired one replaces all servers, and then that it did."""
    old = cluster.pod_uids()
    change(cluster, {"configuration": {"defaultLeaseTTL": CRASHING}})

    def is_broken() -> bool:
        return any(waiting_reason(pod) == "CrashLoopBackOff" for pod in cluster.pods())

    until("a pod with the new configuration fails", is_broken, 120.0)
    throughout("the two other pods are ready", lambda: len(old & ready_uids(cluster)) == 2, 15.0)
    file = "/var/log/openbao/openbao.log"
    settings = {"configuration": {"defaultLeaseTTL": "13h", "logging": {"file": file}}}
    assert effects(cluster, settings) == {NAME: "restart"}
    watch = Stopwatch()
    change(cluster, settings)
    cluster.await_available(ROLL_SECONDS)
    print(f"  {watch.seconds:.1f} s: repaired")
    assert not old & ready_uids(cluster)
    assert effects(cluster, settings) == {}
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    until(
        "a LeaderSteppedDown event exists",
        lambda: events_of(cluster, "LeaderSteppedDown") >= 1,
        30.0,
    )


def waiting_reason(pod: Object) -> str:
    """Return the reason why the first container of a pod waits; "" if it does not."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return next((str((s["state"].get("waiting") or {}).get("reason", "")) for s in statuses), "")


def events_of(cluster: Cluster, reason: str) -> int:
    """Count the events of the cluster with that reason, including repeated ones."""
    events = [
        event for event in cluster.api.list(EVENT, cluster.namespace) if event["reason"] == reason
    ]
    return sum((event.get("series") or {}).get("count", 1) for event in events)


def test_the_output_of_render_matches_the_applied_objects(cluster: Cluster) -> None:
    """Every field of the output is in the live object, with the same value."""
    live = cluster.live()
    manifest_of = {key: live[key] for key in ("apiVersion", "kind", "metadata", "spec")}
    hosts = cluster.api.get(SERVICE, "default", "kubernetes")["spec"]["clusterIPs"]
    installation = Installation(OPERATOR_NAMESPACE, ACCOUNT, IMAGE_REPOSITORY, SECRET_RECHECK)
    behind = api_endpoints(cluster.api.get(ENDPOINT_SLICE, "default", "kubernetes"))
    place = RenderOptions(installation, cluster.namespace, tuple(hosts), "running", behind)
    printed = [
        document
        for document in yaml.safe_load_all(render(yaml.safe_dump(manifest_of), place))
        if document
    ]
    assert {document["kind"] for document in printed} == RENDERED.keys()
    for body in printed:
        live_object = cluster.api.get(
            RENDERED[body["kind"]], cluster.namespace, body["metadata"]["name"]
        )
        template = (body.get("spec") or {}).get("template")
        if template:
            template["metadata"]["annotations"].pop(labels.RELOAD_HASH)
        assert contains(live_object, body), (body["kind"], body["metadata"]["name"])
