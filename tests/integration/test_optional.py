"""runtime.cache.optional on a real API server: a CRD is created, deleted with an object of it, and
created again."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from runtime.cache.informers import InformerSet
from runtime.cache.optional import DEFINITION, OptionalKinds
from runtime.cache.optional_kind import KindAvailability, OptionalKind
from runtime.cache.selection import Selection
from runtime.client.client import Client
from runtime.clock import SystemClock
from runtime.metrics.metrics import Metrics
from runtime.testing.wait import eventually
from runtime.types import Object, ObjectKey, uid_of

GADGET = OptionalKind("optional.example.com", "Gadget", "gadgets", ("v1", "v1alpha1"))
FIRST = GADGET.resources[0]
WITHIN = 30.0


def definition() -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"served": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": DEFINITION.api_version,
        "kind": DEFINITION.kind,
        "metadata": {"name": GADGET.definition},
        "spec": {
            "group": GADGET.group,
            "scope": "Namespaced",
            "names": {"kind": GADGET.kind, "plural": GADGET.plural},
            "versions": [
                {"name": "v1", "storage": True, **version},
                {"name": "v1alpha1", "storage": False, **version},
            ],
        },
    }


@asynccontextmanager
async def run_optional_kinds(client: Client) -> AsyncIterator[OptionalKinds]:
    clock, rng = SystemClock(), random.Random(1)
    informers = InformerSet(client, clock=clock, rng=rng, metrics=Metrics())
    kinds = OptionalKinds(informers, [GADGET], lambda resource: Selection(resource))
    task = asyncio.create_task(informers.run())
    try:
        yield kinds
    finally:
        task.cancel()
        await asyncio.wait([task])


async def await_offer(kinds: OptionalKinds, offer: KindAvailability) -> None:
    await eventually(
        lambda: kinds.offers[GADGET.definition] == offer,
        seconds=WITHIN,
        goal=f"{kinds.offers[GADGET.definition]} is {offer}",
    )


async def test_a_kind_is_added_removed_and_added_again(client: Client, namespace: str) -> None:
    absent, there = KindAvailability(known=True), KindAvailability(True, ("v1", "v1alpha1"), FIRST)
    key = ObjectKey(namespace, "one")
    gadget: Object = {
        "apiVersion": FIRST.api_version,
        "kind": FIRST.kind,
        "metadata": {"namespace": namespace, "name": "one"},
    }
    async with run_optional_kinds(client) as kinds:
        await await_offer(kinds, absent)
        for _ in range(2):
            live_definition = await client.create(DEFINITION, definition(), field_manager="itest")
            await await_offer(kinds, there)
            await client.create(FIRST, gadget, field_manager="itest")
            await eventually(lambda: kinds.caches[FIRST].get(key), seconds=WITHIN, goal="cached")
            await client.delete(
                DEFINITION, ObjectKey("", GADGET.definition), uid=uid_of(live_definition)
            )
            await await_offer(kinds, absent)
            assert kinds.caches[FIRST].list() == []

            async def is_gone() -> bool:
                definitions = await client.list(DEFINITION, None)
                return GADGET.definition not in {
                    item["metadata"]["name"] for item in definitions.items
                }

            for _ in range(int(WITHIN / 0.2)):
                if await is_gone():
                    break
                await SystemClock().sleep(0.2)
            else:
                raise AssertionError("the CRD was not deleted")
