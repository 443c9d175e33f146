"""Owned apply with a server in this process, and the objects of its tests."""

import copy
import random
from dataclasses import replace
from typing import Any

from runtime.apply.apply import OwnedApply
from runtime.apply.apply_cache import ApplyCache
from runtime.apply.apply_result import Applied
from runtime.apply.intent import Intent
from runtime.apply.ownership import Owner, OwnershipKeys
from runtime.builtin_kinds import CONFIG_MAP, SERVICE
from runtime.metrics.metrics import Metrics
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey
from runtime.verdict import Verdict
from tests.gen.api import FakeApi, StillInformer

OWNER = Owner("shop.example.com/v1", "Shop", "ns", "corner", "uid-1")
OTHER = Owner("shop.example.com/v1", "Shop", "ns", "other", "uid-2")
MARKS = OwnershipKeys("example.com/owner", "example.com/intent", "example.com/adopt")
KEY = ObjectKey("ns", "c")


def intent(name: str = "c", **data: str) -> Intent:
    metadata = {"name": name, "namespace": "ns", "labels": {"a": "b"}}
    return Intent(
        CONFIG_MAP,
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or {"k": "v"}},
    )


class Bench:
    """Owned apply with a server in this process, with caches that the test fills."""

    def __init__(self, api: FakeApi | None = None, *, legacy: tuple[str, ...] = ()) -> None:
        self.api = api or FakeApi()
        self.marks = replace(MARKS, legacy_managers=frozenset(legacy))
        self.clock = ManualClock()
        self.caches = {CONFIG_MAP: StillInformer(CONFIG_MAP), SERVICE: StillInformer(SERVICE)}
        self.metrics = Metrics()
        self.restart()
        self.sync()

    def restart(self) -> None:
        """Clear the apply cache, as a new process does."""
        self.settled = ApplyCache(self.clock, random.Random(1))
        self.owned = OwnedApply(
            self.api,
            self.caches,
            field_manager="me",
            marks=self.marks,
            metrics=self.metrics,
            apply_cache=self.settled,
        )

    def sync(self) -> None:
        """Copy the objects of the server to the caches."""
        for resource, cache in self.caches.items():
            cache.says(*self.api.of(resource))

    def edit(self, **fields: Any) -> None:
        """Change the object on the server and in the cache, as another client does."""
        live = copy.deepcopy(self.api.objects[(CONFIG_MAP, KEY)])
        self.api.with_objects((CONFIG_MAP, {**live, **fields}))
        self.sync()

    async def ensure(self, wanted: Intent | None = None, owner: Owner = OWNER) -> Applied:
        return await self.owned.ensure(owner, wanted or intent())

    def counted(self, verdict: Verdict) -> float:
        series = self.metrics.apply_total.labels(resource="configmaps", outcome=verdict.value)
        return float(series._value.get())


def owned_object(by: Owner = OWNER, **metadata: Any) -> Object:
    reference = {"ownerReferences": [by.reference()]}
    base = {"name": "c", "namespace": "ns", "uid": "u"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {**base, **reference, **metadata},
        "data": {"k": "v"},
    }
