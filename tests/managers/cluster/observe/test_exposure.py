"""managers.cluster.observe.exposure, and how optional objects are applied: separately, last,
prunable.
"""

from dataclasses import replace

import pytest

from contracts.naming import names
from contracts.optional_kinds import (
    BACKEND_TLS_POLICY,
    GATEWAY,
    GATEWAY_CLASS,
    HTTP_ROUTE,
    OPTIONAL_KINDS,
    SERVICE_MONITOR,
)
from contracts.owned_kinds import PRUNED
from contracts.records.applied_objects import AppliedObjects
from contracts.records.desired import Desired
from contracts.records.exposure import ExposureFacts
from contracts.records.observed import Observed
from managers.cluster.observe.exposure import ExposureObserver
from managers.cluster.plan.steps import merge_plans
from runtime.builtin_kinds import INGRESS, POD_DISRUPTION_BUDGET, STATEFUL_SET
from runtime.cache.cached_read import CachePolicy, objects_by_name
from runtime.cache.optional import OptionalKinds
from runtime.cache.optional_kind import KindAvailability
from runtime.errors import Forbidden
from runtime.outcome import Blocked, Wait
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey, Resource
from tests import gen
from tests.gen.api import FakeApi, StillInformer, api_error
from tests.gen.worlds import with_good_secrets
from tests.managers.cluster.parts import applier_of
from tests.managers.networking.exposure_objects import ALL, NONE, gateway, ingress, monitor

ROUTE, POLICY = HTTP_ROUTE.resources[0], BACKEND_TLS_POLICY.resources[0]
MONITOR = SERVICE_MONITOR.resources[0]
OWNER = gen.cluster().owner()


def booting(cluster: gen.Cluster, offers: dict[str, KindAvailability]) -> Desired:
    world = with_good_secrets(cluster, gen.world())
    observed: Observed = replace(world.facts(), exposure=ExposureFacts(offers))
    return merge_plans(gen.resolved(cluster, world), observed)


class Bench:
    def __init__(self) -> None:
        self.api = FakeApi()
        optional = (resource for kind in OPTIONAL_KINDS for resource in kind.resources)
        kinds = (*PRUNED, STATEFUL_SET, *optional)
        self.caches = {kind: StillInformer(kind) for kind in kinds}
        self.applier = applier_of(self.api, self.caches)

    async def apply(self, desired: Desired) -> AppliedObjects:
        for kind, cache in self.caches.items():
            cache.says(*self.api.of(kind))
        self.api.calls.clear()
        return await self.applier.apply(OWNER, desired)

    @property
    def asked_of(self) -> set[str]:
        return {call.kind for call in self.api.calls}


WANTED = booting(gateway(), ALL)


async def test_b09_pods_start_whatever_fails_in_the_exposure() -> None:
    bench = Bench()
    bench.api.refuse(f"apply HTTPRoute {names.http_route('x')}", api_error(403))
    done = await bench.apply(WANTED)
    assert done.in_place
    written = [str(call) for call in bench.api.calls if call.verb == "apply"]
    kinds = [word.split()[1] for word in written]
    assert kinds.index("StatefulSet") < kinds.index("BackendTLSPolicy"), "pods come first"
    # A rejected object does not stop the next one.
    assert f"apply BackendTLSPolicy {names.backend_tls_policy('x')}" in written
    (outcome,) = [each for each in done.outcomes if isinstance(each, Wait)]
    assert outcome.reason == "TransientError"
    assert "HTTPRoute" in outcome.message
    assert outcome.after is not None


async def test_b09_an_absent_api_is_not_requested() -> None:
    bench = Bench()
    done = await bench.apply(booting(gateway(), NONE))
    assert done.in_place
    assert not bench.asked_of & {kind.kind for kind in OPTIONAL_KINDS}


async def test_attack_t11_a_foreign_exposure_object_is_reported_and_not_changed() -> None:
    name = names.http_route("x")
    theirs: Object = {
        "metadata": {"name": name, "namespace": gen.NAMESPACE, "labels": {"a": "b"}},
        "spec": {"hostnames": ["theirs.example.com"]},
    }
    bench = Bench()
    bench.api.with_objects((ROUTE, theirs))
    done = await bench.apply(WANTED)
    assert done.in_place
    assert len(done.conflicts) == 1
    assert name in done.conflicts[0]
    assert any(isinstance(outcome, Blocked) for outcome in done.outcomes)
    assert bench.api.objects[(ROUTE, ObjectKey(gen.NAMESPACE, name))]["spec"] == theirs["spec"]
    # Nor is it pruned when the spec no longer requests a route.
    await bench.apply(booting(gen.cluster(), ALL))
    assert (ROUTE, ObjectKey(gen.NAMESPACE, name)) in bench.api.objects


# sentence: (before, after, pruned kinds)
CHANGES: dict[str, tuple[gen.Cluster, gen.Cluster, set[Resource]]] = {
    "no gateway any more": (gateway(), gen.cluster(), {ROUTE, POLICY}),
    "passthrough": (gateway(), gateway(tlsPassthrough=True), {ROUTE, POLICY}),
    "no check of the servers": (gateway(), gateway(backendTLS={"enabled": False}), {POLICY}),
    "no ingress any more": (ingress(), gen.cluster(), {INGRESS}),
    "no monitor any more": (monitor(), gen.cluster(version="2.5.0"), {MONITOR}),
}


@pytest.mark.parametrize("sentence", CHANGES)
async def test_unrequested_objects_are_pruned(sentence: str) -> None:
    before, after, gone = CHANGES[sentence]
    bench = Bench()
    await bench.apply(booting(before, ALL))
    assert all(bench.api.of(kind) for kind in gone)
    await bench.apply(booting(after, ALL))
    assert not any(bench.api.of(kind) for kind in gone)
    assert bench.api.of(POD_DISRUPTION_BUDGET)


async def test_nothing_is_pruned_of_an_unknown_kind() -> None:
    """Its cache may be filled between the read and the pruning, with objects that are desired."""
    bench = Bench()
    await bench.apply(WANTED)
    await bench.apply(WANTED)
    assert bench.api.take_requests() == [], "in a second pass"
    await bench.apply(booting(gateway(), {}))
    assert bench.api.of(ROUTE)
    assert bench.api.of(POLICY)


class Kinds(OptionalKinds):
    """Available kinds that a test sets."""

    def __init__(self, offers: dict[str, KindAvailability]) -> None:
        self._offers = offers


class Looking:
    def __init__(self, offers: dict[str, KindAvailability]) -> None:
        self.api = FakeApi()
        kinds = (INGRESS, *(resource for kind in OPTIONAL_KINDS for resource in kind.resources))
        self.caches = {kind: StillInformer(kind) for kind in kinds}
        objects = objects_by_name(
            self.api, ManualClock(), CachePolicy(9.0, negative_ttl=9.0, refusals=(Forbidden,))
        )
        self.exposure = ExposureObserver(Kinds(offers), self.caches, objects)

    async def facts(self, cluster: gen.Cluster) -> ExposureFacts:
        return await self.exposure.facts(cluster.read(), cluster.owner())

    def mine(self, resource: Resource, name: str, **content: object) -> None:
        metadata = {"name": name, "namespace": gen.NAMESPACE, "resourceVersion": "1"}
        metadata |= {"ownerReferences": [OWNER.reference()]}  # type: ignore[dict-item]
        self.caches[resource].says({"metadata": metadata, **content})


async def test_b09_observing_an_absent_or_unused_api_costs_no_request() -> None:
    looking = Looking(NONE)
    facts = await looking.facts(gateway())
    assert (looking.api.take_requests(), facts.route, facts.usable) == ([], None, ())
    looking = Looking(ALL)
    assert await looking.facts(gen.cluster()) == ExposureFacts(ALL)
    assert looking.api.take_requests() == []


async def test_the_gateway_and_its_class_are_read_by_name() -> None:
    looking = Looking(ALL)
    spec = {"gatewayClassName": "edge", "listeners": [{"name": "https", "protocol": "HTTPS"}]}
    looking.api.with_objects(
        (GATEWAY, {"metadata": {"name": "public", "namespace": gen.NAMESPACE}, "spec": spec}),
        (GATEWAY_CLASS, {"metadata": {"name": "edge"}}),
    )
    looking.mine(ROUTE, names.http_route("x"))
    looking.mine(POLICY, names.backend_tls_policy("x"))
    facts = await looking.facts(gateway())
    assert looking.api.take_requests() == ["get Gateway public", "get GatewayClass edge"]
    assert facts.gateway is not None
    assert facts.gateway_class is not None
    assert gen.present(facts.route).owned
    assert facts.policy is not None
    # Many reconciles share the response.
    await looking.facts(gateway())
    assert looking.api.take_requests() == []


async def test_the_class_of_an_absent_gateway_is_not_read() -> None:
    looking = Looking(ALL)
    facts = await looking.facts(gateway())
    assert looking.api.take_requests() == ["get Gateway public"]
    assert (facts.gateway, facts.gateway_class, facts.gateway_readable) == (None, None, True)


async def test_our_ingress_and_monitor_are_observed() -> None:
    looking = Looking(ALL)
    looking.mine(INGRESS, "x")
    looking.mine(MONITOR, "x")
    both = ingress().with_spec(version="2.5.0", observability=monitor().spec["observability"])
    facts = await looking.facts(both)
    assert gen.present(facts.ingress).owned
    assert facts.monitor
    assert looking.api.take_requests() == []


async def test_objects_of_another_cluster_are_not_ours() -> None:
    looking = Looking(ALL)
    looking.caches[INGRESS].says(
        {"metadata": {"name": "x", "namespace": gen.NAMESPACE, "resourceVersion": "1"}}
    )
    facts = await looking.facts(ingress())
    assert not gen.present(facts.ingress).owned
