"""managers.cluster.reconcile: the whole data flow, with an API server in a dict."""

import pytest

from contracts.naming import names
from managers.cluster.apply.status_writer import DETAIL_INTERVAL
from managers.cluster.observe.cache_refresh import LEADER_RECHECK
from managers.cluster.reconcile import REPORT_AFTER
from runtime.builtin_kinds import CONFIG_MAP, SECRET, SERVICE, STATEFUL_SET
from runtime.errors import Forbidden, ServerError, TransportError
from runtime.outcome import Blocked, Done, Wait, timer_of
from runtime.types import Object, ObjectKey
from tests import gen
from tests.gen.api import api_error
from tests.gen.worlds import digest_of
from tests.managers.cluster.bench import CONFIG, KEY, STATUS, Bench, running_bench
from tests.managers.membership.servers import Servers


def create_foreign_service(bench: Bench, name: str) -> None:
    metadata = {"name": name, "namespace": gen.NAMESPACE, "uid": "theirs"}
    theirs: Object = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    bench.api.with_objects((SERVICE, theirs))


async def test_the_finalizer_comes_before_the_first_child() -> None:
    bench = Bench(gen.cluster())
    await bench.turn()
    assert bench.writes[0] == "patch OpenBaoCluster x"
    assert bench.cluster["metadata"]["finalizers"] == [names.FINALIZER]


async def test_from_nothing_to_the_first_pod() -> None:
    bench = Bench(gen.cluster())
    assert gen.expect(Wait, await bench.until_quiet()).reason == "FirstBoot"
    live = bench.api.objects[(STATEFUL_SET, KEY)]
    assert live["spec"]["replicas"] == 1
    secrets = {secret["metadata"]["name"] for secret in bench.api.of(SECRET)}
    assert secrets == {"x-unseal-key", "x-root-token", "x-tls-ca", "x-tls-server"}
    assert bench.condition("Ready") == ("False", "FirstBoot")
    assert bench.condition("OpenBaoInitialized") == ("False", "NotInitialized")


async def test_from_the_first_pod_to_three(bench: Bench) -> None:
    assert bench.api.objects[(STATEFUL_SET, KEY)]["spec"]["replicas"] == 3
    assert bench.condition("Ready") == ("True", "AllReplicasReady")
    assert bench.cluster["status"]["phase"] == "Running"
    maps = {obj["metadata"]["name"] for obj in bench.api.of(CONFIG_MAP)}
    # The first-boot configuration is removed before a second pod could read it.
    assert maps == {"x-config"}
    after = Bench(gen.cluster())
    after.api.objects = bench.api.objects
    await after.turn()
    assert after.writes == [], "by a new operator"


async def test_a_quiet_cluster_costs_nothing(bench: Bench) -> None:
    outcome = await bench.turn()
    assert bench.api.take_requests() == []
    # Secrets are not watched.
    assert outcome == Done(gen.INSTALLATION.secret_recheck)


async def test_a_quiet_cluster_is_requeued_only_for_its_secrets(bench: Bench) -> None:
    await bench.turn(after=gen.INSTALLATION.secret_recheck)
    assert bench.api.take_requests()
    assert bench.writes == []


async def test_a_new_template_is_never_reported_as_ready(bench: Bench) -> None:
    bench.ask_for(runtime={"restartAt": "now"})
    await bench.turn()
    assert bench.cluster["status"]["observedGeneration"] == 2
    assert bench.condition("Ready") == ("False", "RollingOut")
    assert bench.condition("Reconciling") == ("True", "RollingOut")


async def test_a_refused_spec_changes_nothing_and_is_reported() -> None:
    bench = Bench(gen.cluster(version="2.3.0"))
    assert gen.expect(Blocked, await bench.turn()).reason == "InvalidSpec"
    assert bench.writes == ["patch OpenBaoCluster x", STATUS]
    assert bench.condition("Stalled") == ("True", "InvalidSpec")


async def test_an_unreadable_spec_is_reported_and_changes_nothing(bench: Bench) -> None:
    bench.ask_for(replicas="many")
    assert isinstance(await bench.turn(), Blocked)
    assert bench.writes == [STATUS]
    for kind, status in (("Ready", "False"), ("Stalled", "True"), ("Degraded", "True")):
        assert bench.condition(kind) == (status, "InvalidSpec")
    assert "spec.replicas" in str(bench.cluster["status"]["conditions"])
    assert bench.condition("Available") == ("True", "AllReplicasReady")
    assert bench.cluster["status"]["observedGeneration"] == 2
    assert bench.cluster["status"]["phase"] == "Running"
    await bench.turn()
    assert bench.writes == []
    bench.ask_for(replicas=3)
    await bench.until_quiet()
    assert bench.condition("Stalled") == ("False", "Ready")


async def test_a_foreign_object_stops_the_pods_and_is_named() -> None:
    bench = Bench(gen.cluster())
    create_foreign_service(bench, "x")
    assert isinstance(await bench.until_quiet(), Blocked)
    assert (STATEFUL_SET, KEY) not in bench.api.objects
    assert bench.condition("Conflict") == ("True", "ForeignObject")
    (condition,) = [c for c in bench.cluster["status"]["conditions"] if c["type"] == "Conflict"]
    assert "Service ns/x" in condition["message"]


async def test_a_deleted_cluster_is_done() -> None:
    bench = Bench(gen.cluster())
    bench.api.objects.clear()
    assert await bench.turn() == Done()
    assert bench.api.take_requests() == []


@pytest.mark.parametrize("name", ["Not_A_Name", "a-public"])
async def test_a_name_that_no_cluster_can_have_is_done(name: str) -> None:
    bench = Bench(gen.cluster())
    assert await bench.reconcile(ObjectKey(gen.NAMESPACE, name)) == Done()


class TestFailing:
    async def fail(
        self, bench: Bench, seconds: float = 0.0, error: Exception | None = None
    ) -> None:
        """Run a reconcile after `seconds` in which the write of the configuration fails."""
        await bench.outside.clock.advance(seconds)
        bench.api.objects.pop(CONFIG, None)
        bench.api.refuse("apply ConfigMap x-config", error or api_error(500))
        with pytest.raises((ServerError, Forbidden, TransportError)):
            await bench.turn()

    async def test_a_persistent_failure_is_reported_and_cleared(self, bench: Bench) -> None:
        await bench.outside.clock.advance(DETAIL_INTERVAL)
        for _ in range(10):
            await self.fail(bench)
        await self.fail(bench, REPORT_AFTER - 1)
        assert STATUS not in bench.writes
        await self.fail(bench, 1)
        assert bench.condition("Reconciling") == ("True", "TransientError")
        await bench.until_quiet()
        assert bench.condition("Reconciling") == ("False", "Ready")

    async def test_a_success_starts_the_period_again(self, bench: Bench) -> None:
        for _ in range(3):
            await self.fail(bench, REPORT_AFTER - 1)
            await bench.until_quiet()
        assert STATUS not in bench.writes

    async def test_an_outage_does_not_count_for_responses_after_it(self, bench: Bench) -> None:
        """An API server that starts answers 403 until it has loaded the roles."""
        outage = TransportError("connection refused")
        for _ in range(2):
            bench.api.refuse(STATUS, outage)
            await self.fail(bench, 2 * REPORT_AFTER, outage)
        await self.fail(bench, 1, api_error(403))
        await self.fail(bench, REPORT_AFTER - 1, api_error(403))
        assert STATUS not in bench.writes
        await self.fail(bench, 1, api_error(403))
        assert bench.condition("Reconciling") == ("True", "TransientError")

    async def test_errors_with_and_without_a_response_count_together(self, bench: Bench) -> None:
        timeout = TransportError("no response in time")
        await self.fail(bench, error=timeout)
        for error in (api_error(500), timeout, api_error(500)):
            await self.fail(bench, REPORT_AFTER / 2, error)
        assert bench.condition("Reconciling") == ("True", "TransientError")

    async def test_a_failed_status_write_does_not_hide_the_error(self, bench: Bench) -> None:
        for _ in range(2):
            bench.api.refuse(STATUS, api_error(500))
            await self.fail(bench, REPORT_AFTER)


async def test_no_pod_is_replaced_in_an_ownership_conflict(servers: Servers, bench: Bench) -> None:
    bench.ask_for(runtime={"restartAt": "now"})
    await bench.turn()
    bench.observe_stateful_set()
    create_foreign_service(bench, "x-public")
    await bench.turn()
    assert not any(word.startswith("delete Pod") for word in bench.writes)
    del bench.api.objects[(SERVICE, ObjectKey(gen.NAMESPACE, "x-public"))]
    await bench.turn()
    assert "evict Pod x-2" in bench.writes


async def test_keys_are_generated_during_an_ownership_conflict() -> None:
    """The other prerequisites are ready when a user has resolved the conflict."""
    bench = Bench(gen.cluster())
    create_foreign_service(bench, "x-public")
    await bench.turn()
    assert "create Secret x-unseal-key" in bench.writes


class TestDeletion:
    async def test_keys_are_kept_and_the_finalizer_is_removed_last(self, bench: Bench) -> None:
        bench.delete()
        assert await bench.turn() == Done()
        orphaned = ["patch Secret x-unseal-key", "patch Secret x-root-token"]
        assert bench.writes == [*orphaned, "patch OpenBaoCluster x"]
        assert bench.cluster["metadata"]["finalizers"] == []

    async def test_a_paused_cluster_is_deleted_too(self, bench: Bench) -> None:
        bench.ask_for(paused=True)
        bench.delete()
        assert await bench.turn() == Done()
        assert bench.cluster["metadata"]["finalizers"] == []

    async def test_it_waits_for_the_servers(self) -> None:
        bench = await running_bench(gen.cluster(deletionPolicy="DeletePVCs"))
        bench.delete()
        assert gen.expect(Wait, await bench.turn()).reason == "Deleting"
        assert bench.cluster["metadata"]["finalizers"] == [names.FINALIZER]
        assert bench.condition("Ready") == ("False", "Deleting")


def test_the_digest_that_the_builders_use_is_the_one_of_the_plan() -> None:
    assert digest_of(gen.cluster()) == digest_of(gen.cluster(replicas=5))


class TestWhoLeads:
    """Two pods carry the label of the leader: a stale label, or two leaders."""

    async def test_no_server_is_queried_while_the_labels_agree(self, servers: Servers) -> None:
        await running_bench(gen.cluster())
        assert servers.requests == []

    async def test_a_stale_label_stops_no_rollout(self, servers: Servers, bench: Bench) -> None:
        servers.standby = {"10.0.0.1", "10.0.0.2"}
        bench.label_as_leader(2)
        bench.ask_for(runtime={"restartAt": "now"})
        await bench.turn()
        await bench.turn()
        assert "evict Pod x-1" in bench.writes
        assert bench.condition("OpenBaoLeader") == ("True", "LeaderFound")

    async def test_two_leaders_are_checked_again_soon(self, servers: Servers, bench: Bench) -> None:
        bench.label_as_leader(2)
        bench.ask_for(runtime={"restartAt": "now"})
        await bench.turn()
        outcome = await bench.turn()
        assert not [call for call in bench.writes if call.startswith(("delete Pod", "evict Pod"))]
        assert gen.expect(Wait, outcome).after == LEADER_RECHECK
        assert bench.condition("Degraded") == ("True", "MultipleLeaders")


# --- bugs of other operators (docs/known-bugs-not-ours.md) ---


async def test_b01_a_quiet_cluster_is_requeued(bench: Bench) -> None:
    await bench.until_quiet()
    assert 0 < gen.present(timer_of(await bench.reconcile(KEY))) <= gen.INSTALLATION.secret_recheck


async def test_b01_a_reconcile_that_waits_for_a_rollout_is_requeued(bench: Bench) -> None:
    await bench.until_quiet()
    bench.ask_for(runtime={"restartAt": "now"})
    assert 0 < gen.present(timer_of(await bench.reconcile(KEY))) <= gen.INSTALLATION.secret_recheck


async def test_b46_missing_rights_are_retried(bench: Bench) -> None:
    for _ in range(2):
        await bench.outside.clock.advance(REPORT_AFTER)
        bench.api.objects.pop(CONFIG, None)
        bench.api.refuse("apply ConfigMap x-config", api_error(403))
        with pytest.raises(Forbidden):
            await bench.turn()
    assert bench.condition("Reconciling") == ("True", "TransientError")
    assert bench.condition("Degraded") == ("False", "Ready")
    await bench.until_quiet()
    assert bench.condition("Reconciling") == ("False", "Ready")
