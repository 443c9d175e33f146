"""An Applier over a fake API server, and the children that it applies."""

from contracts.owned_kinds import PRUNED
from contracts.records.applied_objects import AppliedObjects
from contracts.records.desired import Desired
from managers.cluster.plan.steps import merge_plans
from tests import gen
from tests.gen.api import FakeApi, StillInformer
from tests.gen.worlds import with_good_secrets
from tests.managers.cluster.parts import applier_of

CLUSTER = gen.cluster()
OWNER = CLUSTER.owner()
BOOTING = with_good_secrets(CLUSTER, gen.world())
DESIRED = merge_plans(gen.resolved(CLUSTER, BOOTING), BOOTING.facts())
NAMES = [f"{intent.resource.kind} {intent.key.name}" for intent in DESIRED.intents]


class Bench:
    def __init__(self, api: FakeApi | None = None) -> None:
        self.api = api or FakeApi()
        kinds = {intent.resource for intent in DESIRED.intents} | set(PRUNED)
        self.caches = {kind: StillInformer(kind) for kind in kinds}
        for kind, cache in self.caches.items():
            cache.says(*self.api.of(kind))
        self.applier = applier_of(self.api, self.caches)

    async def apply(self, desired: Desired = DESIRED) -> AppliedObjects:
        return await self.applier.apply(OWNER, desired)

    @property
    def applies(self) -> list[str]:
        return [str(call).partition(" ")[2] for call in self.api.calls if call.verb == "apply"]
