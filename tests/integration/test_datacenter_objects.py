"""Services of kind Objects on a real API server: applied, repaired, and deprovisioned."""

import random
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from contracts.datacenter.grants import ObjectKind
from contracts.datacenter.service_spec import BootstrapService
from contracts.datacenter.workload_records import (
    DatacenterInfo,
    DesiredService,
    ServiceRecord,
    ServiceSource,
)
from contracts.naming import labels
from managers.context.context import FIELD_MANAGER, MARKS
from managers.datacenter.interfaces import ProviderError
from managers.datacenter.provider.other_kinds import ObjectsProvider
from runtime.apply.apply import OwnedApply
from runtime.apply.apply_cache import ApplyCache
from runtime.builtin_kinds import NAMESPACE
from runtime.cache.cache import Cache
from runtime.cache.optional import DEFINITION as DEFINITIONS
from runtime.client.client import Client
from runtime.client.credentials import KubeconfigCredentials
from runtime.client.impersonation import Impersonating
from runtime.clock import SystemClock
from runtime.errors import NotFound
from runtime.metrics.metrics import Metrics
from runtime.types import Object, ObjectKey, Resource, labels_of, uid_of
from tests.contracts.datacenter.services import cluster_role, objects
from tests.integration.locked import CLUSTER_ROLE as ROLES
from tests.integration.locked import CLUSTER_ROLE_BINDING as BINDINGS

RIGHTS = (
    {
        "apiGroups": [ROLES.group],
        "resources": [ROLES.plural],
        "verbs": ["list", "get", "create", "patch", "update", "delete"],
    },
    # The rig checks permissions for the owner, as OpenShift does.
    {
        "apiGroups": ["openbao.org"],
        "resources": ["bootstrapworkloads/finalizers"],
        "verbs": ["update"],
    },
)


@pytest_asyncio.fixture
async def place(control_plane_with_crds: object, client: Client) -> AsyncIterator["Place"]:
    """A namespace, and unique names."""
    place = Place(client, uuid.uuid4().hex[:8])
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.namespace}}
    await client.create(NAMESPACE, body, field_manager="somebody")
    yield place
    for resource, name in ((DEFINITIONS, f"{place.plural}.{place.group}"), (ROLES, place.role)):
        try:
            live = await client.get(resource, ObjectKey("", name))
            await client.delete(resource, ObjectKey("", name), uid=uid_of(live))
        except NotFound:
            continue


class Place:
    """The namespace, names and provider of one test."""

    def __init__(self, client: Client, mark: str) -> None:
        self.client, self.mark = client, mark
        self.namespace, self.role = f"dc-{mark}", f"issuer-{mark}"
        self.group, self.plural = f"g{mark}.example.com", "issuers"
        self.provider = ObjectsProvider(client, self._apply)
        self.issuers = Resource(self.group, "v1", "Issuer", self.plural)

    def _apply(self, caches: Mapping[Resource, Cache]) -> OwnedApply:
        return OwnedApply(
            self.client,
            caches,
            field_manager=FIELD_MANAGER,
            marks=MARKS,
            metrics=Metrics(),
            apply_cache=ApplyCache(SystemClock(), random.Random(1)),
        )

    def record(self, *bodies: Object, uid: str = "record-1", **fields: Any) -> ServiceRecord:
        """A stored record."""
        kinds = (
            ObjectKind(group=DEFINITIONS.group, kind=DEFINITIONS.kind),
            ObjectKind(group=ROLES.group, kind=ROLES.kind),
            ObjectKind(group=self.group, kind="Issuer"),
        )
        info = DatacenterInfo(f"fra{self.mark}", "uid-fra", self.namespace, object_kinds=kinds)
        service = BootstrapService.model_validate(objects(*bodies, **fields))
        return ServiceRecord(uid, info, DesiredService(service, ServiceSource("hook/net")))

    def definition(self) -> Object:
        """The CRD of a kind of this test."""
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": schema},
        }
        return {
            "apiVersion": DEFINITIONS.api_version,
            "kind": DEFINITIONS.kind,
            "metadata": {"name": f"{self.plural}.{self.group}"},
            "spec": {
                "group": self.group,
                "scope": "Namespaced",
                "names": {"kind": "Issuer", "plural": self.plural, "singular": "issuer"},
                "versions": [version],
            },
        }

    def issuer(self, **spec: Any) -> Object:
        """An object of that kind; its empty fields are significant."""
        return {
            "apiVersion": f"{self.group}/v1",
            "kind": "Issuer",
            "metadata": {"name": "own", "labels": {"team": "a"}},
            "spec": spec or {"selfSigned": {}},
        }

    async def provision(self, record: ServiceRecord) -> None:
        """Provision a record, and wait until it is healthy."""
        await self.provider.provision(record)
        clock = SystemClock()
        end = clock.monotonic() + 30.0
        while True:
            seen = await self.provider.observe(record)
            if seen.healthy and seen.digest == record.desired.digest:
                return
            assert clock.monotonic() < end, seen
            await clock.sleep(0.1)


async def test_a_crd_and_an_object_of_it_are_applied(place: Place) -> None:
    first = place.record(place.definition())
    assert not (await place.provider.observe(first)).present
    await place.provision(first)
    second = place.record(place.issuer(), uid="record-2", name="issuers")
    await place.provision(second)
    live = await place.client.get(place.issuers, ObjectKey(place.namespace, "own"))
    assert live["spec"] == {"selfSigned": {}}
    assert labels_of(live)["team"] == "a"
    assert [owner_reference["uid"] for owner_reference in live["metadata"]["ownerReferences"]] == [
        "record-2"
    ]
    # The garbage collector must never delete a CRD with its record.
    name = ObjectKey("", f"{place.plural}.{place.group}")
    assert "ownerReferences" not in (await place.client.get(DEFINITIONS, name))["metadata"]


async def test_an_object_waits_for_its_crd_and_reports_it(place: Place) -> None:
    with pytest.raises(
        ProviderError, match=r"does not serve kind Issuer in g\w+\.example\.com/v1"
    ) as e:
        await place.provider.provision(place.record(place.issuer()))
    assert (e.value.reason, e.value.terminal) == ("KindNotServed", False)


async def test_a_foreign_change_is_detected_and_reverted(place: Place) -> None:
    record = place.record(cluster_role(place.role))
    await place.provision(record)
    key = ObjectKey("", place.role)
    before = await place.client.get(ROLES, key)
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    ops = [{"op": "replace", "path": "/rules", "value": rules}]
    await place.client.json_patch(ROLES, key, ops, field_manager="somebody")
    assert (await place.provider.observe(record)).digest == ""
    await place.provision(record)
    after = await place.client.get(ROLES, key)
    assert after["rules"] == before["rules"]
    # An unchanged record causes no write.
    await place.provider.observe(record)
    again = await place.client.get(ROLES, key)
    assert again["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]


async def test_an_object_that_was_removed_from_the_service_is_deleted(place: Place) -> None:
    await place.provision(place.record(place.definition()))
    both = place.record(cluster_role(place.role), place.issuer(), uid="record-2", name="issuers")
    await place.provision(both)
    record = place.record(cluster_role(place.role), uid="record-2", name="issuers")
    assert (await place.provider.observe(record)).digest == ""
    await place.provision(record)
    with pytest.raises(NotFound):
        await place.client.get(place.issuers, ObjectKey(place.namespace, "own"))


async def test_an_object_of_another_owner_is_not_changed(place: Place) -> None:
    theirs = await place.client.create(ROLES, cluster_role(place.role), field_manager="somebody")
    record = place.record(cluster_role(place.role, rules=[]))
    with pytest.raises(ProviderError, match="belongs to an unknown owner") as caught:
        await place.provider.provision(record)
    assert (caught.value.reason, caught.value.terminal) == ("Foreign", True)
    assert await place.provider.deprovision(replace(record, retiring=True))
    assert await place.client.get(ROLES, ObjectKey("", place.role)) == theirs


async def test_revoked_permissions_are_reported_and_change_nothing(
    place: Place, client: Client, credentials: KubeconfigCredentials
) -> None:
    """A user of this test first has all permissions for ClusterRoles, then none."""
    user = f"operator-{place.mark}"
    record = place.record(cluster_role(place.role, rules=[]))
    role = {"metadata": {"name": user}, "rules": list(RIGHTS)}
    reference = {"apiGroup": ROLES.group, "kind": "ClusterRole", "name": user}
    subject = {"apiGroup": ROLES.group, "kind": "User", "name": user}
    binding = {"metadata": {"name": user}, "roleRef": reference, "subjects": [subject]}
    live_role = await client.create(ROLES, role, field_manager="somebody")
    bound = await client.create(BINDINGS, binding, field_manager="somebody")
    limited = Client(
        Impersonating(credentials, user), user_agent="itest", clock=SystemClock(), metrics=Metrics()
    )
    try:
        granted = Place(limited, place.mark)
        await granted.provision(record)
        await client.delete(BINDINGS, ObjectKey("", user), uid=uid_of(bound))
        before = await client.get(ROLES, ObjectKey("", place.role))
        actions = {
            "observe": granted.provider.observe,
            "provision": granted.provider.provision,
            "deprovision": granted.provider.deprovision,
        }
        for name, action in actions.items():
            with pytest.raises(ProviderError, match=rf"{user}\W.* cannot list") as caught:
                await action(record)
            assert (caught.value.reason, caught.value.terminal) == ("Forbidden", True), name
        assert await client.get(ROLES, ObjectKey("", place.role)) == before
    finally:
        await limited.close()
        await client.delete(ROLES, ObjectKey("", user), uid=uid_of(live_role))


async def test_deprovisioning_keeps_crds_and_deletes_other_objects(place: Place) -> None:
    record = place.record(cluster_role(place.role), place.definition())
    await place.provision(record)
    gone = replace(record, retiring=True)
    while not await place.provider.deprovision(gone):
        pass
    with pytest.raises(NotFound):
        await place.client.get(ROLES, ObjectKey("", place.role))
    key = ObjectKey("", f"{place.plural}.{place.group}")
    left = await place.client.get(DEFINITIONS, key)
    assert labels.MANAGED_BY not in labels_of(left)
    # Only a later record of that name adopts it.
    other = place.record(place.definition(), uid="record-3", name="another")
    with pytest.raises(ProviderError, match="belongs to"):
        await place.provider.provision(other)
    later = place.record(place.definition(), uid="record-4")
    await place.provision(later)
    assert uid_of(await place.client.get(DEFINITIONS, key)) == uid_of(left)


async def test_orphaned_objects_stay(place: Place) -> None:
    record = place.record(cluster_role(place.role), deletionPolicy="Orphan")
    await place.provision(record)
    while not await place.provider.deprovision(replace(record, retiring=True)):
        pass
    left = await place.client.get(ROLES, ObjectKey("", place.role))
    assert "ownerReferences" not in left["metadata"]
