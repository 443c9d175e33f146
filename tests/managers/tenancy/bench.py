"""One provisioner in memory, with tenants and clusters of the test and a counting API server."""

from __future__ import annotations

import random
from typing import Any

from contracts.api.group import API_VERSION, CLUSTERS, TENANT_KIND, TENANTS
from contracts.tenancy import FINALIZER
from managers.tenancy.namespaces import Namespaces
from managers.tenancy.plan import QUOTA, TenantInstallation
from managers.tenancy.rbac import Grants
from managers.tenancy.reconcile import TenantDependencies, TenantReconciler
from runtime.builtin_kinds import NAMESPACE
from runtime.controller.ratelimit import Bucket
from runtime.outcome import Outcome
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey, Resource, key_of
from tests.gen.api import FakeApi, StillInformer

HOME = "operators"
TARGET = "team-a"
PLACE = TenantInstallation(HOME, "the-operator", "poll")
PERIOD = 600.0
UNBOUNDED = 1000


def tenant(name: str = "t", target: str = TARGET, *, home: str = HOME, **metadata: Any) -> Object:
    """A tenant as the API server holds it."""
    return {
        "apiVersion": API_VERSION,
        "kind": TENANT_KIND,
        "metadata": {
            "name": name,
            "namespace": home,
            "uid": f"uid-{name}",
            "generation": 1,
            "creationTimestamp": "2030-01-01T00:00:00Z",
            **metadata,
        },
        "spec": {"targetNamespace": target},
    }


def namespace(name: str = TARGET, **metadata: Any) -> Object:
    """A namespace."""
    body = {"name": name, "uid": f"uid-ns-{name}", **metadata}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": body}


class QuotaApi(FakeApi):
    """A server with a controller manager that counts the objects of quotas."""

    counts = True

    def admitted(self, obj: Object) -> Object:
        """Count zero for every resource."""
        if obj.get("kind") == QUOTA.kind and self.counts:
            obj = {**obj, "status": {"used": dict.fromkeys(obj["spec"]["hard"], "0")}}
        return obj


class Bench:
    """One server with two identities: `api` of the provisioner, and `delegate`."""

    def __init__(
        self, *tenants: Object, space: Object | None = None, pace: int = UNBOUNDED
    ) -> None:
        self.api = FakeApi().with_objects(*((TENANTS, tenant) for tenant in tenants))
        self.delegate = QuotaApi()
        # One set of objects, two lists of calls.
        self.delegate.objects = self.api.objects
        self.delegate._versions = self.api._versions
        if space is not None:
            self.api.with_objects((NAMESPACE, space))
        self.clock = ManualClock()
        self.tenants = StillInformer(TENANTS)
        self.clusters = StillInformer(CLUSTERS)
        rng = random.Random(1)
        hands = TenantDependencies(
            self.api,
            Grants(
                self.delegate, self.clock, rng, PERIOD, Bucket(self.clock, rate=1.0, burst=pace)
            ),
            Namespaces(self.api, self.clock, rng, PERIOD),
        )
        self.reconcile = TenantReconciler(self.tenants, self.clusters, hands, self.clock, PLACE)

    def says(self, *clusters: Object) -> None:
        """Show exactly these clusters."""
        for cluster in clusters:
            cluster["metadata"]["resourceVersion"] = str(next(self.api._versions))
        self.clusters.says(*clusters)

    def sync(self) -> None:
        """Let the cache of tenants hold what the server does."""
        self.tenants.says(*self.api.of(TENANTS))

    async def run(self, name: str = "t", *, home: str = HOME) -> Outcome:
        """Run one pass with fresh caches."""
        self.sync()
        outcome = await self.reconcile(ObjectKey(home, name))
        self.sync()
        return outcome

    async def settle(self, name: str = "t") -> Outcome:
        """Run passes until one makes no request."""
        for _ in range(6):
            outcome = await self.run(name)
            if not self.take_requests():
                return outcome
        raise AssertionError("the requests do not end")

    def take_requests(self) -> list[str]:
        """All calls since the last call of this function."""
        return self.api.take_requests() + self.delegate.take_requests()

    def object(self, resource: Resource, name: str, where: str = TARGET) -> Object:
        """One object of the server."""
        return self.api.objects[(resource, ObjectKey(where, name))]

    def names(self, resource: Resource, where: str = TARGET) -> list[str]:
        """The names of all objects of a kind in a namespace."""
        return sorted(
            key_of(obj).name for obj in self.api.of(resource) if key_of(obj).namespace == where
        )

    def status(self, name: str = "t", home: str = HOME) -> Object:
        """The status of a tenant."""
        status: Object = self.object(TENANTS, name, home).get("status") or {}
        return status

    def reason(self, name: str = "t", home: str = HOME) -> tuple[str, str]:
        """Status and reason of the one condition."""
        (condition,) = self.status(name, home)["conditions"]
        return condition["status"], condition["reason"]

    def delete(self, name: str = "t") -> None:
        """Delete a tenant."""
        live = self.object(TENANTS, name, HOME)
        live["metadata"]["deletionTimestamp"] = "2030-01-01T01:00:00Z"
        live["metadata"]["resourceVersion"] = str(next(self.api._versions))

    def is_gone(self, name: str = "t") -> bool:
        """Whether a terminating tenant has no finalizers."""
        live = self.api.objects.get((TENANTS, ObjectKey(HOME, name)))
        return live is None or FINALIZER not in live["metadata"].get("finalizers", [])
