"""Multi-tenant mode with polling, and with watching: requests, times, and rights.

E2E_QUIET_SECONDS sets the length of the idle period, which is short in CI.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from contracts.api.group import CLUSTERS, TENANTS
from contracts.rbac.rules import Reads
from e2e.conftest import MakeNamespace
from e2e.harness.audit import AuditLog, tally, writes
from e2e.harness.budgets import budget
from e2e.harness.clusters import Cluster
from e2e.harness.installation import NAMESPACE, Identity, apply_rights
from e2e.harness.kubernetes import Api
from e2e.harness.modes import as_in_a_pod, tenant_controller
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.harness.tenants import await_reason, make_tenant, provisioner_identity, start_provisioner
from e2e.harness.waiting import Stopwatch, until
from e2e.multi_tenant.figures import (
    OWN_KINDS,
    Observer,
    bring_up,
    counted_requests,
    quiet,
    refusals_since,
    settle,
    status_delay,
    watched_kinds,
)
from e2e.rig import Rig

QUIET_SECONDS = float(os.environ.get("E2E_QUIET_SECONDS", "10"))
# Two seconds more than in cluster-wide mode, which needs up to 4.6 s (docs/modes.md).
OWN_SECONDS = 6.6
MOST_REQUESTS = 100
USUAL_SECONDS = 15.0
MORE_A_SECOND = 5.0
QUIET_A_MINUTE = 6.0
FRESH_SECONDS = 10.0
GONE_SECONDS = 25.0
CONTROLLER = "e2e-tenants"


@dataclass(frozen=True, slots=True)
class World:
    """The environment of the runs of all modes."""

    rig: Rig
    api: Api
    audit: AuditLog
    launcher: Launcher
    make_namespace: MakeNamespace
    tenants: Identity
    provisioner: Identity

    def observer(self, account: Identity) -> Observer:
        """Return an observer of the requests of one account."""
        return Observer(self.rig, self.api, self.audit, account)

    def start(self, account: Identity, environment: Mapping[str, str] | None = None) -> Operator:
        """Start an operator and wait for its first requests."""
        mark = self.audit.mark()
        operator = self.launcher.start(account, NO_ELECTION, environment=environment)
        until(
            "the operator sends requests",
            lambda: operator.alive and self.audit.since(mark, account.user),
            90.0,
        )
        return operator

    def controller_of(self, reads: Reads) -> Operator:
        """Start the operator with the environment of its Deployment and of a kubelet."""
        mode = {"TENANCY_MODE": "multi-tenant", "TENANT_READS": reads}
        return self.start(self.tenants, {**mode, **as_in_a_pod(self.api)})

    @contextmanager
    def provision_namespace(self, reads: Reads) -> Iterator[str]:
        """A namespace that a provisioner provisions for the duration of the context."""
        mark = self.audit.mark()
        running = start_provisioner(
            self.launcher, self.provisioner, CONTROLLER, {"TENANT_READS": reads}
        )
        namespace = self.make_namespace()
        make_tenant(self.api, namespace)
        await_reason(self.api, namespace, "Provisioned", seconds=60.0)
        yield namespace
        self.api.delete(TENANTS, NAMESPACE, namespace)
        until(
            "the tenant is gone", lambda: self.api.find(TENANTS, NAMESPACE, namespace) is None, 30.0
        )
        assert running.stop() == 0
        assert not refusals_since(self.observer(self.provisioner), mark)


@pytest.fixture(scope="module")
def world(
    rig: Rig,
    api: Api,
    audit: AuditLog,
    launcher: Launcher,
    make_namespace: MakeNamespace,
    tmp_path_factory: pytest.TempPathFactory,
) -> World:
    """The environment, without tenants of another run."""
    folder = tmp_path_factory.mktemp("accounts")
    # The kinds first: an API server is slow for a moment after it gets a new one.
    provisioner = provisioner_identity(rig, api, folder)
    apply_rights(rig, "tenant-watch")
    controller = tenant_controller(rig, api, folder)
    for live in api.list(TENANTS, None):
        where = live["metadata"]["namespace"], live["metadata"]["name"]
        api.patch(TENANTS, *where, {"metadata": {"finalizers": None}})
        api.delete(TENANTS, *where)
    return World(rig, api, audit, launcher, make_namespace, controller, provisioner)


def remove(api: Api, cluster: Cluster) -> float:
    """Delete a cluster and wait until it is gone; return the seconds."""
    watch = Stopwatch()
    api.delete(CLUSTERS, cluster.namespace, cluster.name)
    until("the cluster is gone", lambda: cluster.find() is None, 60.0)
    return watch.seconds


def stays_quiet(observer: Observer) -> None:
    """An idle operator writes nothing and reads little."""
    settle(observer)
    requests = quiet(observer, QUIET_SECONDS)
    reads = [request for request in requests if request.verb != "watch"]
    summary = f"idle for {QUIET_SECONDS:.0f} s: {tally(reads) or 'no requests'}"
    print(summary)
    assert not writes(requests), summary
    # In a short period all reads of a minute may be due, but each object only once.
    allowed = QUIET_A_MINUTE * max(1.0, QUIET_SECONDS / 60.0)
    budget("reads while quiet", len(reads), allowed, "reads")
    if QUIET_SECONDS < 45.0:
        budget(
            "reads of one object while quiet",
            max(Counter(map(str, reads)).values(), default=0),
            1,
            "reads",
        )


@pytest.mark.timeout(300)
def test_poll_reads_by_name_and_neither_lists_nor_watches(world: World) -> None:
    """Nothing in the namespace of a tenant is listed or watched, except our kinds."""
    observer, begin = world.observer(world.tenants), world.audit.mark()
    operator = world.controller_of("poll")
    with world.provision_namespace("poll") as namespace:
        cluster, measured = bring_up(observer, namespace, "theirs", 3)
        print(f"\nmulti-tenant, poll: {measured}")
        stays_quiet(observer)

        mark = world.audit.mark()
        lost, back = status_delay(observer, cluster)
        cost = counted_requests(world.audit.since(mark, world.tenants.user))
        print(f"status {lost:.1f} s after a lost pod, {back:.1f} s after a new one: {tally(cost)}")
        cluster.await_available()
        settle(observer)

        assert operator.stop() == 0
        mark = world.audit.mark()
        operator = world.controller_of("poll")
        settle(observer)
        again = world.audit.since(mark, world.tenants.user)
        print(f"restart: {tally(again)}")
        gone = remove(world.api, cluster)
        print(f"cluster deleted after {gone:.1f} s")
    everything = world.audit.since(begin, world.tenants.user)
    assert operator.stop() == 0

    assert not refusals_since(observer, begin)
    assert watched_kinds(everything) <= OWN_KINDS
    # Not the whole time: the start of servers varies by more than that between two runs.
    budget("poll: the operator's part of the bring-up", measured.own, OWN_SECONDS, "s")
    # Servers that start slowly are polled more often.
    allowed = MOST_REQUESTS + MORE_A_SECOND * max(0.0, measured.seconds - USUAL_SECONDS)
    budget("poll: bring-up", len(measured.requests), allowed, "requests")
    budget("poll: status after a lost pod", max(lost, back), FRESH_SECONDS, "s")
    assert not writes(again), tally(writes(again))
    budget("deletion of a cluster", gone, GONE_SECONDS, "s")


@pytest.mark.timeout(300)
def test_watch_uses_the_rights_in_provisioned_namespaces(world: World) -> None:
    """The operator may list and watch in provisioned namespaces."""
    observer, begin = world.observer(world.tenants), world.audit.mark()
    operator = world.controller_of("watch")
    with world.provision_namespace("watch") as namespace:
        cluster, measured = bring_up(observer, namespace, "theirs", 1)
        print(f"\nmulti-tenant, watch: {measured}")
        stays_quiet(observer)
        gone = remove(world.api, cluster)
        print(f"cluster deleted after {gone:.1f} s")
    assert operator.stop() == 0

    assert not refusals_since(observer, begin)
    budget("watch: bring-up", len(measured.requests), MOST_REQUESTS, "requests")
    budget("deletion of a cluster", gone, GONE_SECONDS, "s")
