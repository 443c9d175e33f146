"""managers.cluster.reconcile: the whole way of the data, pass by pass, over a server in a dict."""

import copy

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from managers.bao import login
from managers.cluster.apply.status_writer import DETAIL_INTERVAL
from managers.cluster.reconcile import REPORT_AFTER_FAILURES
from runtime.builtin_kinds import CONFIG_MAP, SECRET, SERVICE, STATEFUL_SET
from runtime.errors import ServerError
from runtime.outcome import Blocked, Done, Wait
from runtime.types import Object, ObjectKey
from tests import gen
from tests.gen.api import api_error
from tests.gen.worlds import digest_of
from tests.managers.cluster.bench import CONFIG, KEY, STATUS, Bench, booted
from tests.managers.membership.servers import Servers


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


async def test_from_the_first_pod_to_three() -> None:
    bench = await booted(gen.cluster())
    assert bench.api.objects[(STATEFUL_SET, KEY)]["spec"]["replicas"] == 3
    assert bench.condition("Ready") == ("True", "AllReplicasReady")
    assert bench.cluster["status"]["phase"] == "Running"
    maps = {obj["metadata"]["name"] for obj in bench.api.of(CONFIG_MAP)}
    # What makes a new cluster is gone before a second pod could see it.
    assert maps == {"x-config"}
    after = Bench(gen.cluster())
    after.api.objects = bench.api.objects
    await after.turn()
    assert after.writes == [], "by a new operator"


async def test_a_quiet_cluster_costs_nothing() -> None:
    bench = await booted(gen.cluster())
    outcome = await bench.turn()
    assert bench.api.asked == []
    # Secrets are not watched.
    assert outcome == Done(gen.INSTALLATION.secret_recheck)


async def test_a_quiet_cluster_is_looked_at_for_its_secrets_alone() -> None:
    bench = await booted(gen.cluster())
    await bench.outside.clock.advance(gen.INSTALLATION.secret_recheck)
    await bench.turn()
    assert bench.api.asked
    assert bench.writes == []


async def test_a_new_template_is_never_told_as_ready() -> None:
    bench = await booted(gen.cluster())
    bench.ask_for(runtime={"restartAt": "now"})
    await bench.turn()
    assert bench.cluster["status"]["observedGeneration"] == 2
    assert bench.condition("Ready") == ("False", "RollingOut")
    assert bench.condition("Reconciling") == ("True", "RollingOut")


async def test_a_paused_cluster_is_told_and_left_alone() -> None:
    bench = Bench(gen.cluster(paused=True))
    assert await bench.turn() == Done()
    assert bench.writes == ["patch OpenBaoCluster x", STATUS]
    assert bench.condition("Paused") == ("True", "Paused")


async def test_a_refused_spec_changes_nothing_and_says_why() -> None:
    bench = Bench(gen.cluster(version="2.3.0"))
    assert gen.expect(Blocked, await bench.turn()).reason == "InvalidSpec"
    assert bench.writes == ["patch OpenBaoCluster x", STATUS]
    assert bench.condition("Stalled") == ("True", "InvalidSpec")


async def test_a_spec_that_nobody_can_read_is_told_and_changes_nothing() -> None:
    bench = await booted(gen.cluster())
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
    metadata = {"name": "x", "namespace": gen.NAMESPACE}
    theirs: Object = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    bench.api.holding((SERVICE, theirs))
    assert isinstance(await bench.until_quiet(), Blocked)
    assert (STATEFUL_SET, KEY) not in bench.api.objects
    assert bench.condition("Conflict") == ("True", "ForeignObject")
    (told,) = [c for c in bench.cluster["status"]["conditions"] if c["type"] == "Conflict"]
    assert "Service ns/x" in told["message"]


async def test_a_cluster_that_is_gone_is_done() -> None:
    bench = Bench(gen.cluster())
    bench.api.objects.clear()
    assert await bench.turn() == Done()
    assert bench.api.asked == []


@pytest.mark.parametrize("name", ["Not_A_Name", "a-public"])
async def test_a_name_that_no_cluster_can_have_is_done(name: str) -> None:
    bench = Bench(gen.cluster())
    assert await bench.reconcile(ObjectKey(gen.NAMESPACE, name)) == Done()


class TestFailing:
    async def fail(self, bench: Bench) -> None:
        """Run a pass in which the server breaks while it is to make the configuration anew."""
        await bench.outside.clock.advance(DETAIL_INTERVAL)
        bench.api.objects.pop(CONFIG, None)
        bench.api.refuse("apply ConfigMap x-config", api_error(500))
        with pytest.raises(ServerError):
            await bench.turn()

    async def test_a_failure_that_lasts_is_told_and_goes(self) -> None:
        bench = await booted(gen.cluster())
        for _ in range(REPORT_AFTER_FAILURES - 1):
            await self.fail(bench)
            assert STATUS not in bench.writes
        await self.fail(bench)
        assert bench.condition("Reconciling") == ("True", "TransientError")
        await bench.until_quiet()
        assert bench.condition("Reconciling") == ("False", "Ready")

    async def test_failures_are_counted_in_a_row(self) -> None:
        bench = await booted(gen.cluster())
        for _ in range(REPORT_AFTER_FAILURES):
            await self.fail(bench)
            await bench.until_quiet()
        assert STATUS not in bench.writes

    async def test_a_status_that_cannot_be_written_either_hides_nothing(self) -> None:
        bench = await booted(gen.cluster())
        for _ in range(REPORT_AFTER_FAILURES):
            bench.api.refuse(STATUS, api_error(500))
            await self.fail(bench)


class TestEffects:
    def in_the_way(self, bench: Bench) -> None:
        """Put somebody else's object where the public Service goes."""
        metadata = {"name": "x-public", "namespace": gen.NAMESPACE, "uid": "theirs"}
        theirs: Object = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
        bench.api.holding((SERVICE, theirs))

    async def test_no_pod_is_replaced_while_something_is_in_the_way(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(login, "Bao", lambda authority, name, guard: Servers())
        bench = await booted(gen.cluster())
        bench.ask_for(runtime={"restartAt": "now"})
        await bench.turn()
        live = bench.api.objects[(STATEFUL_SET, KEY)]
        bench.api.holding((STATEFUL_SET, {**live, "status": {"observedGeneration": 9}}))
        self.in_the_way(bench)
        await bench.turn()
        assert not any(word.startswith("delete Pod") for word in bench.writes)
        del bench.api.objects[(SERVICE, ObjectKey(gen.NAMESPACE, "x-public"))]
        await bench.turn()
        assert "evict Pod x-2" in bench.writes

    async def test_keys_are_drawn_while_something_is_in_the_way(self) -> None:
        """Whoever waits for a person may as well have everything else at hand."""
        bench = Bench(gen.cluster())
        self.in_the_way(bench)
        await bench.turn()
        assert "create Secret x-unseal-key" in bench.writes


class TestDeletion:
    def ask(self, bench: Bench) -> None:
        """Let somebody delete the cluster."""
        asked = copy.deepcopy(bench.cluster)
        asked["metadata"]["deletionTimestamp"] = "2030-01-01T00:00:00Z"
        bench.api.holding((CLUSTERS, asked))

    async def test_keys_are_kept_and_the_finalizer_goes_last(self) -> None:
        bench = await booted(gen.cluster())
        self.ask(bench)
        assert await bench.turn() == Done()
        assert bench.writes == [
            "patch Secret x-unseal-key",
            "patch Secret x-root-token",
            "patch OpenBaoCluster x",
        ]
        assert bench.cluster["metadata"]["finalizers"] == []

    async def test_a_paused_cluster_is_deleted_too(self) -> None:
        bench = await booted(gen.cluster())
        bench.ask_for(paused=True)
        self.ask(bench)
        assert await bench.turn() == Done()
        assert bench.cluster["metadata"]["finalizers"] == []

    async def test_it_waits_for_the_servers(self) -> None:
        bench = await booted(gen.cluster(deletionPolicy="DeletePVCs"))
        self.ask(bench)
        assert gen.expect(Wait, await bench.turn()).reason == "Deleting"
        assert bench.cluster["metadata"]["finalizers"] == [names.FINALIZER]
        assert bench.condition("Ready") == ("False", "Deleting")

    async def test_a_spec_that_nobody_can_read_is_retained(self) -> None:
        bench = await booted(gen.cluster(deletionPolicy="DeletePVCs"))
        bench.ask_for(replicas="many")
        self.ask(bench)
        assert await bench.turn() == Done()
        assert "patch Secret x-unseal-key" in bench.writes
        assert not any(word.startswith("delete") for word in bench.writes)


def test_the_digest_that_the_builders_use_is_the_one_of_the_plan() -> None:
    assert digest_of(gen.cluster()) == digest_of(gen.cluster(replicas=5))
