"""The deletion of a cluster over a fake API server."""

from typing import Any

from managers.cluster.delete import PROTECTED, Deletion
from managers.cluster.observe.observer import CLUSTER_INDEX, by_cluster
from managers.context.secret_builder import secret_object
from runtime.builtin_kinds import POD, PVC, SECRET, STATEFUL_SET
from runtime.outcome import Outcome
from runtime.types import Object, ObjectKey, Resource
from tests import gen
from tests.gen.api import FakeApi, Outside, StillInformer

CLUSTER = gen.cluster().initialized()
OWNER = CLUSTER.owner()
KEYS = ("x-unseal-key", "x-root-token", "x-recovery-shares")


def claim(ordinal: int, *, owner: str = "uid-x", **metadata: Any) -> Object:
    usual = {"uid": f"uid-data-x-{ordinal}", "finalizers": [PROTECTED]}
    name = metadata.pop("name", f"data-x-{ordinal}")
    return gen.claim(name, owner=owner, **{**usual, **metadata})


class Bench:
    """One deletion; the caches have the objects of the API server."""

    def __init__(self, *objects: tuple[Resource, Object]) -> None:
        secrets = [(SECRET, secret_object(OWNER, name, {"k": b"v"})) for name in KEYS]
        self.api = FakeApi().with_objects(*secrets, *objects)
        outside = Outside(self.api)
        self.caches = {kind: StillInformer(kind) for kind in (POD, PVC, STATEFUL_SET)}
        for resource in (POD, PVC):
            self.caches[resource].add_index(CLUSTER_INDEX, by_cluster)
        self.outside = outside
        self.requested_at = outside.clock.now()
        self.deletion = Deletion(outside.context, self.caches)
        self.sync()

    def sync(self) -> None:
        for kind, cache in self.caches.items():
            cache.says(*self.api.of(kind))

    def lose(self, resource: Resource, name: str) -> None:
        del self.api.objects[(resource, ObjectKey(gen.NAMESPACE, name))]
        self.sync()

    async def run(self, policy: str | None = None) -> Outcome:
        cluster = CLUSTER.with_spec(deletionPolicy=policy).read()
        return await self.deletion.run(cluster, OWNER, self.requested_at)

    def secret(self, name: str) -> Object:
        return self.api.objects[(SECRET, ObjectKey(gen.NAMESPACE, name))]

    @property
    def writes(self) -> list[str]:
        return [str(call) for call in self.api.calls if call.verb not in ("get", "peek")]


SERVERS = ((STATEFUL_SET, gen.stateful_set().object()), (POD, gen.pod(0).object()))
WHOLE = (*SERVERS, *((PVC, claim(n)) for n in range(3)))
