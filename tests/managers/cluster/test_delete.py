"""managers.cluster.delete: what is deleted with a cluster, what is kept, and in which order."""

import pytest

from contracts.naming import labels
from managers.cluster.delete import PODS_GRACE_PERIOD
from managers.context.secret_builder import secret_object
from runtime.builtin_kinds import POD, PVC, SECRET, STATEFUL_SET
from runtime.errors import Conflict, Invalid, ServerError, status_error
from runtime.outcome import Done, Wait, timer_of
from runtime.types import Object, ObjectKey, Resource
from tests import gen
from tests.gen.api import api_error
from tests.managers.cluster.deletion_bench import CLUSTER, KEYS, OWNER, WHOLE, Bench, claim

DELETING = ["DeletePVCs", "DeleteAll"]


class TestRetain:
    async def test_keys_are_orphaned_and_nothing_is_deleted(self) -> None:
        bench = Bench(*WHOLE)
        assert await bench.run("Retain") == Done()
        assert bench.writes == [f"patch Secret {name}" for name in KEYS]
        for name in KEYS:
            metadata = bench.secret(name)["metadata"]
            assert "ownerReferences" not in metadata
            # The annotation still names the owner.
            assert metadata["annotations"][labels.OWNER_UID] == "uid-x"
        assert not any(call.verb == "get" for call in bench.api.calls), "no key is read"
        bench.api.calls.clear()
        assert await bench.run("Retain") == Done()
        assert bench.writes == [], "nor written a second time"

    async def test_absent_keys_are_ignored(self) -> None:
        bench = Bench()
        for name in KEYS:
            bench.lose(SECRET, name)
        assert await bench.run("Retain") == Done()

    async def test_without_a_policy_or_a_readable_spec_nothing_is_lost(self) -> None:
        for cluster in (CLUSTER.read(), None):
            bench = Bench(*WHOLE, (PVC, claim(0, name="x-audit")))
            assert await bench.deletion.run(cluster, OWNER, bench.requested_at) == Done()
            assert bench.writes == [f"patch Secret {name}" for name in KEYS]

    async def test_a_key_of_another_owner_is_not_changed(self) -> None:
        bench = Bench()
        theirs = gen.cluster("x").with_metadata(uid="uid-2").owner()
        bench.api.with_objects((SECRET, secret_object(theirs, "x-unseal-key", {"k": b"v"})))
        await bench.run("Retain")
        assert bench.secret("x-unseal-key")["metadata"]["ownerReferences"]

    @pytest.mark.parametrize(("ours", "is_read"), [(True, True), (False, False)])
    async def test_only_our_stateful_set_gives_the_number_of_keys(
        self, ours: bool, is_read: bool
    ) -> None:
        live = gen.stateful_set().with_keys("a=key-40").object()
        if not ours:
            del live["metadata"]["ownerReferences"]
        bench = Bench((STATEFUL_SET, live))
        await bench.run("Retain")
        assert ("peek Secret x.40-unseal-key" in bench.api.take_requests()) is is_read

    async def test_the_patch_applies_only_to_the_secret_that_was_read(self) -> None:
        bench = Bench()
        uid = bench.secret("x-unseal-key")["metadata"]["uid"]
        version = bench.secret("x-unseal-key")["metadata"]["resourceVersion"]
        await bench.run("Retain")
        ops = bench.api.body_of("patch Secret x-unseal-key")
        assert {"op": "test", "path": "/metadata/uid", "value": uid} in ops
        assert {"op": "replace", "path": "/metadata/resourceVersion", "value": version} in ops

    @pytest.mark.parametrize(("code", "error"), [(422, Invalid), (409, Conflict)])
    async def test_a_refused_orphan_keeps_the_finalizer(
        self, code: int, error: type[Exception]
    ) -> None:
        """The finalizer is removed only after this has returned."""
        bench = Bench()
        bench.api.refuse("patch Secret x-unseal-key", status_error({"code": code}))
        with pytest.raises(error):
            await bench.run("Retain")


def of_another_pool(revision: str) -> tuple[tuple[Resource, Object], ...]:
    """The objects of a pool of that revision; a deleted pool also leaves the volume."""
    return (
        (STATEFUL_SET, gen.stateful_set().of(revision).object()),
        (POD, gen.pod(0).of(revision).object()),
        (PVC, claim(0, name=f"data-x-{revision}-0")),
    )


BLUE, GREEN, FORMER = "0" * 16, "1" * 16, "2" * 16


@pytest.mark.parametrize("policy", DELETING)
class TestVoterPools:
    async def test_all_stateful_sets_in_the_status_are_deleted(self, policy: str) -> None:
        bluegreen = {"blueRevision": BLUE, "greenRevision": GREEN}
        cluster = CLUSTER.with_spec(deletionPolicy=policy).with_status(blueGreen=bluegreen).read()
        sets = [
            (STATEFUL_SET, gen.stateful_set().of(revision).object()) for revision in (BLUE, GREEN)
        ]
        bench = Bench(*sets)
        assert isinstance(await bench.deletion.run(cluster, OWNER, bench.requested_at), Wait)
        assert bench.writes == [f"delete StatefulSet x-{revision}" for revision in (BLUE, GREEN)]

    async def test_an_unknown_set_is_found_by_its_pods_and_volumes(self, policy: str) -> None:
        bench = Bench(*WHOLE, *of_another_pool(FORMER))
        assert isinstance(await bench.run(policy), Wait)
        assert bench.writes == ["delete StatefulSet x", f"delete StatefulSet x-{FORMER}"]


THEIR_SET = gen.stateful_set().object()
THEIR_SET["metadata"]["ownerReferences"] = []
# sentence: (objects, names of the volumes that are deleted)
VOLUMES: dict[str, tuple[tuple[tuple[Resource, Object], ...], list[str]]] = {
    "volumes of every pool": (
        ((PVC, claim(0)), of_another_pool(FORMER)[2]),
        ["data-x-0", f"data-x-{FORMER}-0"],
    ),
    "an audit volume with our UID": (((PVC, claim(0, name="x-audit")),), ["x-audit"]),
    "an audit volume of an earlier cluster": (
        ((PVC, claim(0, owner="uid-of-an-earlier-one", name="x-audit")),),
        [],
    ),
    "an audit volume without an owner": (((PVC, claim(0, owner="", name="x-audit")),), []),
    "a volume of an earlier cluster": (((PVC, claim(0, owner="uid-of-an-earlier-one")),), []),
    "a volume without an owner": (((PVC, claim(1, annotations={})),), []),
    "a terminating volume": (((PVC, claim(2, deletionTimestamp="2030-01-01T00:00:00Z")),), []),
    "volume of another cluster": (((PVC, claim(3, name="data-y-0", labels=labels.base("y"))),), []),
    "volumes of other names": (
        tuple((PVC, claim(0, name=name)) for name in ("scratch-x-0", "data-x-0123-0", "x-backup")),
        [],
    ),
    "a StatefulSet of another owner": (((STATEFUL_SET, THEIR_SET), (PVC, claim(0))), ["data-x-0"]),
}


@pytest.mark.parametrize("policy", DELETING)
@pytest.mark.parametrize(("objects", "deleted"), VOLUMES.values(), ids=VOLUMES)
async def test_which_volumes_are_deleted(
    objects: tuple[tuple[Resource, Object], ...], deleted: list[str], policy: str
) -> None:
    bench = Bench(*objects)
    assert await bench.run(policy) == Done()
    assert bench.writes == [f"delete PersistentVolumeClaim {name}" for name in deleted]


@pytest.mark.parametrize("policy", DELETING)
@pytest.mark.parametrize("pod", [gen.pod(0).of(FORMER), gen.read_pod(0)], ids=["voter", "reader"])
async def test_the_deletion_waits_for_pods_of_every_pool(pod: gen.Pod, policy: str) -> None:
    bench = Bench((POD, pod.object()), (PVC, claim(0)))
    name = pod.object()["metadata"]["name"]
    assert name in gen.expect(Wait, await bench.run(policy)).message
    assert bench.writes == []


@pytest.mark.parametrize("policy", DELETING)
class TestDelete:
    async def test_the_servers_are_deleted_first(self, policy: str) -> None:
        bench = Bench(*WHOLE)
        outcome = gen.expect(Wait, await bench.run(policy))
        assert outcome.reason == "Deleting"
        assert outcome.after is not None
        assert bench.writes == ["delete StatefulSet x"]
        body = bench.api.body_of("delete StatefulSet x")
        assert body == {"uid": "uid-sts-x", "propagation": "Foreground"}
        # No volume is deleted while a pod could write to it.
        bench.sync()
        assert isinstance(await bench.run(policy), Wait)
        assert bench.writes == ["delete StatefulSet x"]

    async def test_a_terminating_stateful_set_is_not_deleted_again(self, policy: str) -> None:
        bench = Bench((STATEFUL_SET, gen.stateful_set().terminating().object()))
        assert isinstance(await bench.run(policy), Wait)
        assert bench.writes == []

    @pytest.mark.parametrize("code", [404, 409])
    async def test_a_deleted_or_recreated_set_is_checked_again(
        self, policy: str, code: int
    ) -> None:
        bench = Bench((STATEFUL_SET, gen.stateful_set().object()), (PVC, claim(0)))
        bench.api.refuse("delete StatefulSet x", api_error(code))
        assert isinstance(await bench.run(policy), Wait)
        assert bench.writes == ["delete StatefulSet x"]

    async def test_volumes_are_deleted_by_uid_after_the_servers(self, policy: str) -> None:
        bench = Bench(*((PVC, claim(n)) for n in range(3)))
        assert await bench.run(policy) == Done()
        assert bench.writes == [f"delete PersistentVolumeClaim data-x-{n}" for n in range(3)]
        for n in range(3):
            body = bench.api.body_of(f"delete PersistentVolumeClaim data-x-{n}")
            assert body["uid"] == f"uid-data-x-{n}"
        for name in KEYS:
            assert bench.secret(name)["metadata"]["ownerReferences"], "keys go with the cluster"
        assert await bench.outside.flush_events() == [], "nothing is kept"

    @pytest.mark.parametrize("code", [404, 409])
    async def test_a_deleted_or_recreated_volume_is_ignored(self, policy: str, code: int) -> None:
        bench = Bench(*((PVC, claim(n)) for n in range(2)))
        bench.api.refuse("delete PersistentVolumeClaim data-x-0", api_error(code))
        assert await bench.run(policy) == Done()
        assert bench.writes[-1] == "delete PersistentVolumeClaim data-x-1"

    async def test_an_api_error_ends_the_reconcile(self, policy: str) -> None:
        bench = Bench((PVC, claim(0)))
        bench.api.refuse("delete PersistentVolumeClaim data-x-0", api_error(500))
        with pytest.raises(ServerError):
            await bench.run(policy)

    async def test_a_complete_deletion(self, policy: str) -> None:
        bench = Bench(*WHOLE)
        waits = 0
        while isinstance(await bench.run(policy), Wait):
            waits += 1
            assert waits < 5
            bench.sync()
            # Act as the StatefulSet controller and the kubelet.
            bench.api.objects.pop((POD, ObjectKey(gen.NAMESPACE, "x-0")), None)
        left = {resource for resource, _ in bench.api.objects}
        assert left == {SECRET}

    async def test_read_replicas_and_their_volumes_are_deleted(self, policy: str) -> None:
        members = gen.stateful_set().object()
        members["metadata"] |= {"name": "x-read", "uid": "uid-sts-x-read"}
        bench = Bench((STATEFUL_SET, members), (PVC, claim(0, name="data-x-read-0")))
        assert isinstance(await bench.run(policy), Wait)
        assert bench.writes == ["delete StatefulSet x-read"]
        bench.sync()
        assert await bench.run(policy) == Done()
        assert bench.writes[1:] == ["delete PersistentVolumeClaim data-x-read-0"]

    async def test_kept_volumes_are_reported_during_and_after_the_wait(self, policy: str) -> None:
        bench = Bench(*WHOLE[:2], (PVC, claim(0)), (PVC, claim(1, owner="uid-of-before")))
        outcome = gen.expect(Wait, await bench.run(policy))
        assert "data-x-1" in outcome.message
        assert "x-0 still running" in outcome.message
        bench.lose(POD, "x-0")
        assert await bench.run(policy) == Done()
        ((kind, reason, text),) = await bench.outside.flush_events()
        assert (kind, reason) == ("Warning", "VolumesKept")
        assert "data-x-1" in text
        assert "data-x-0" not in text

    async def test_an_unprotected_volume_is_kept_while_a_pod_runs(self, policy: str) -> None:
        bench = Bench((POD, gen.pod(0).object()), (PVC, claim(0, finalizers=[])), (PVC, claim(1)))
        await bench.outside.clock.advance(PODS_GRACE_PERIOD.total_seconds())
        assert await bench.run(policy) == Done()
        assert bench.writes == ["delete PersistentVolumeClaim data-x-1"]
        events = await bench.outside.flush_events()
        assert [reason for _, reason, _ in events] == ["ServersStillRun", "VolumesKept"]
        assert "data-x-0" in events[1][2]


# --- T20: servers that never terminate do not block the namespace ---

STUCK = (
    (POD, gen.pod(0).terminating().object()),
    (POD, gen.pod(1).terminating().object()),
    *((PVC, claim(n)) for n in range(2)),
)
NAMESPACE_MAY_TAKE = 60.0


@pytest.mark.parametrize("policy", ["DeletePVCs", "DeleteAll"])
class TestStuckPods:
    async def test_attack_t20_the_wait_for_hanging_pods_is_bounded(self, policy: str) -> None:
        bench = Bench(*STUCK)
        waited = 0.0
        while isinstance(outcome := await bench.run(policy), Wait):
            assert "x-0, x-1" in outcome.message
            step = gen.present(timer_of(outcome))
            waited += step
            await bench.outside.clock.advance(step)
        assert outcome == Done()
        assert waited <= PODS_GRACE_PERIOD.total_seconds() + 5.0 < NAMESPACE_MAY_TAKE
        # Each is protected: the API server keeps it until its pod has terminated.
        assert bench.writes == [f"delete PersistentVolumeClaim data-x-{n}" for n in range(2)]
        ((kind, reason, text),) = await bench.outside.flush_events()
        assert (kind, reason) == ("Warning", "ServersStillRun")
        assert "x-0, x-1" in text

    async def test_attack_t20_a_hanging_set_does_not_block_the_deletion(self, policy: str) -> None:
        bench = Bench(*WHOLE)
        assert isinstance(await bench.run(policy), Wait)
        await bench.outside.clock.advance(PODS_GRACE_PERIOD.total_seconds())
        assert await bench.run(policy) == Done()

    async def test_attack_t20_no_server_and_no_secret_is_read(self, policy: str) -> None:
        bench = Bench(*STUCK)
        await bench.run(policy)
        assert bench.api.calls == []
