"""All objects that the operator creates are accepted by a real API server.

Each apply has strict field validation. The namespace enforces the Pod Security Standard
"restricted", which checks pods, so one is created (dry run) from each template.
"""

import copy
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
import yaml

from baoctl.generate.main import ROOT
from contracts.naming import labels, names
from contracts.records.effects import (
    DrawRootToken,
    DrawUnsealKey,
    Effect,
    IssueAuthority,
    IssueServerCertificate,
)
from managers.bootstrap.actions import draw_unseal_key
from managers.cluster.apply.actions import EFFECTS
from managers.cluster.observe.from_objects import SecretReading, secret_reading
from managers.cluster.plan.steps import merge_plans
from managers.context.context import FIELD_MANAGER, Context
from managers.context.reads.secrets import SecretStore
from managers.networking.policy import jobs_network_policy, network_policy
from managers.networking.service_monitor import metrics_service
from managers.networking.services import public_service
from runtime.apply.intent import Intent
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import NAMESPACE, POD, PVC, SECRET, SERVICE_ACCOUNT, STATEFUL_SET
from runtime.client.client import Client
from runtime.clock import SystemClock
from runtime.errors import Forbidden, Invalid
from runtime.events import EventRecorder, Reporter
from runtime.types import Object, ObjectKey, resource_version_of, uid_of
from tests import gen
from tests.contracts.api.case import hardened_spec
from tests.gen.worlds import with_good_secrets
from tests.managers.networking.exposure_objects import monitor

QUICKSTART = yaml.safe_load(
    (ROOT / "config" / "samples" / "quickstart.yaml").read_text().split("\n---\n")[-1]
)["spec"]

EVERYTHING: Mapping[str, Any] = {
    "replicas": 5,
    "image": "registry.example.com/openbao:2.4.0",
    "imagePullSecrets": [{"name": "login"}],
    "resources": {"requests": {"cpu": "1000m", "memory": "0.5Gi"}, "limits": {"memory": "1Gi"}},
    "podMetadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}},
    "runtime": {"restartAt": "2030-01-01T00:00:00Z"},
    "storage": {"size": "1.5Gi", "storageClassName": "fast"},
    "service": {"type": "LoadBalancer", "annotations": {"example.com/lb": "internal"}},
    "serviceAccount": {"name": "everything", "annotations": {"example.com/role": "r"}},
    "tls": {"extraSANs": ["bao.example.com", "192.0.2.1", "2001:DB8::1"]},
    "configuration": {"ui": False, "logging": {"format": "json"}, "maxLeaseTTL": "999h"},
    "network": {
        "apiServerCIDR": "10.96.0.0/12",
        "apiServerEndpointIPs": ["192.0.2.1", "2001:db8::2"],
        "dnsNamespace": "dns",
        "dnsEndpointIPs": ["169.254.20.10"],
        "trustedIngressPeers": [
            {"namespaceSelector": {}, "podSelector": {"matchLabels": {"app": "a"}}},
            {"ipBlock": {"cidr": "192.0.2.0/24", "except": ["192.0.2.0/28"]}},
            {
                "namespaceSelector": {
                    "matchExpressions": [{"key": "team", "operator": "In", "values": ["a"]}]
                }
            },
        ],
        "ingressRules": [{"from": [{"podSelector": {}}], "ports": [{"port": 8200}]}],
        "egressRules": [
            {
                "to": [{"ipBlock": {"cidr": "::/0"}}],
                "ports": [{"port": 1, "endPort": 9, "protocol": "UDP"}],
            },
            {},
        ],
    },
}

# The name describes the special case; all are created in one namespace.
SPECS: dict[str, gen.Cluster] = {
    "minimal": gen.cluster("minimal"),
    "single": gen.cluster("single", replicas=1),
    "everything": gen.cluster("everything", **EVERYTHING),
    "quickstart": replace(gen.cluster("quickstart"), spec=QUICKSTART),
    "self-init": gen.cluster("self-init").self_init(login=True),
    "longest": gen.cluster("x" * names.CLUSTER_NAME_MAX, replicas=15),
    "node-port": gen.cluster("node-port", service={"type": "NodePort"}),
}


@pytest_asyncio.fixture
async def restricted_namespace(client: Client) -> AsyncIterator[str]:
    """A namespace that enforces the level `restricted`."""
    metadata = {
        "generateName": "itest-restricted-",
        "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
    }
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    namespace = await client.create(NAMESPACE, body, field_manager="itest")
    name: str = namespace["metadata"]["name"]
    yield name
    await client.delete(NAMESPACE, ObjectKey("", name), uid=uid_of(namespace))


def children(cluster: gen.Cluster) -> tuple[Intent, ...]:
    """All objects of a cluster before and after its first boot, each name once.

    The StatefulSet is the one after the first boot; `templates` has both.
    """
    fresh = with_good_secrets(cluster, gen.world().with_issuer())
    intents: dict[tuple[Any, ObjectKey], Intent] = {}
    for state, world in ((cluster, fresh), (cluster.initialized(), fresh)):
        desired = merge_plans(gen.resolved(state, world), world.facts())
        assert desired.complete
        intents.update({(intent.resource, intent.key): intent for intent in desired.intents})
    return tuple(intents.values())


def templates(cluster: gen.Cluster) -> tuple[Object, ...]:
    """The pod templates of the first boot and of later pods."""
    fresh = with_good_secrets(cluster, gen.world().with_issuer())
    results = []
    for state in (cluster, cluster.initialized()):
        desired = merge_plans(gen.resolved(state, fresh), fresh.facts())
        (intent,) = [i for i in desired.intents if i.resource == STATEFUL_SET]
        results.append(intent.body["spec"]["template"])
    return tuple(results)


async def send(client: Client, intent: Intent, owner: Owner, *, dry_run: bool = False) -> Object:
    """Apply an object as the operator does."""
    body = copy.deepcopy(intent.body)
    body["metadata"]["ownerReferences"] = [owner.reference()]
    response = await client.apply(
        intent.resource, body, field_manager=FIELD_MANAGER, force=True, dry_run=dry_run
    )
    return response.object


def within(cluster: gen.Cluster, namespace: str) -> gen.Cluster:
    return cluster.with_metadata(namespace=namespace)


async def test_every_object_is_accepted_and_an_equal_apply_changes_nothing(
    client: Client, restricted_namespace: str
) -> None:
    """The second round is a second later: the server must not write new timestamps either."""
    results: list[tuple[Intent, Owner, Object]] = []
    for cluster in SPECS.values():
        here = within(cluster, restricted_namespace)
        owner = here.owner()
        results += [(i, owner, await send(client, i, owner)) for i in children(here)]
    kinds = {intent.resource.kind for intent, _, _ in results}
    assert len(kinds) == 8
    await SystemClock().sleep(1.1)
    for intent, owner, before in results:
        after = await send(client, intent, owner)
        assert resource_version_of(after) == resource_version_of(before), str(intent)


async def test_ranges_without_metadata_servers_are_accepted(
    client: Client, restricted_namespace: str
) -> None:
    """The API server validates that each exception lies within its range, and is smaller."""
    ranges = ("0.0.0.0/0", "::/0", "128.0.0.0/1", "169.0.0.0/8", "fd00::/8", "168.63.129.16/32")
    peers = [{"ipBlock": {"cidr": cidr}} for cidr in ranges]
    spec = hardened_spec(network={"egressRules": [{"to": peers, "ports": [{"port": 443}]}]})
    here = within(gen.cluster("wide-egress", **spec), restricted_namespace)
    meant, facts = gen.resolved(here), gen.world().facts()
    for intent in (network_policy(meant, facts), jobs_network_policy(meant, facts)):
        obj = await send(client, intent, here.owner())
        rule = obj["spec"]["egress"][-1]
        assert [peer["ipBlock"]["cidr"] for peer in rule["to"]] == list(ranges)
        assert "169.254.0.0/16" in rule["to"][0]["ipBlock"]["except"]
        again = await send(client, intent, here.owner())
        assert resource_version_of(again) == resource_version_of(obj)


@pytest.mark.parametrize("cluster", SPECS.values(), ids=SPECS.keys())
async def test_a_restricted_namespace_accepts_every_pod(
    client: Client, restricted_namespace: str, cluster: gen.Cluster
) -> None:
    here = within(cluster, restricted_namespace)
    await send(client, account_of(here), here.owner())
    for template in templates(here):
        await client.apply(
            POD, pod_of(template, here), field_manager="itest", force=True, dry_run=True
        )


def account_of(cluster: gen.Cluster) -> Intent:
    """The ServiceAccount of the servers, not that of a Job."""
    of_job = names.job_service_account(cluster.name, "upgrade")
    accounts = [i for i in children(cluster) if i.resource == SERVICE_ACCOUNT]
    (account,) = [i for i in accounts if i.key.name != of_job]
    return account


def pod_of(template: Object, cluster: gen.Cluster) -> Object:
    """The first pod of a StatefulSet, as its controller creates it."""
    name = names.pod(cluster.name, 0)
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}}
    spec = {**template["spec"], "volumes": [*template["spec"]["volumes"], claim]}
    metadata = {**template["metadata"], "name": name, "namespace": cluster.metadata["namespace"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


async def test_a_restricted_namespace_refuses_a_pod_with_more_privileges(
    client: Client, restricted_namespace: str
) -> None:
    """Shows that the namespace of the test above enforces the level."""
    here = within(SPECS["minimal"], restricted_namespace)
    await send(client, account_of(here), here.owner())
    pod = pod_of(templates(here)[0], here)
    pod["spec"]["containers"][0]["securityContext"] = {}
    with pytest.raises(Forbidden, match="PodSecurity"):
        await client.apply(POD, pod, field_manager="itest", force=True, dry_run=True)


@pytest.mark.parametrize("cluster", SPECS.values(), ids=SPECS.keys())
async def test_the_volume_claim_of_each_pod_is_accepted(
    client: Client, restricted_namespace: str, cluster: gen.Cluster
) -> None:
    here = within(cluster, restricted_namespace)
    (live,) = [i for i in children(here) if i.resource == STATEFUL_SET]
    (template,) = live.body["spec"]["volumeClaimTemplates"]
    claim = copy.deepcopy(template)
    claim["metadata"].update(name=names.data_claim(here.name, 0), namespace=restricted_namespace)
    stored = await client.apply(PVC, claim, field_manager="itest", force=True, dry_run=True)
    assert stored.object["metadata"]["annotations"][labels.OWNER_UID] == here.owner().uid


def stateful_set(cluster: gen.Cluster, live: gen.StatefulSet | None) -> Intent:
    """The desired StatefulSet of a cluster with this live one."""
    world = with_good_secrets(cluster, gen.world().with_set(live))
    desired = merge_plans(gen.resolved(cluster, world), world.facts())
    (intent,) = [i for i in desired.workload if i.resource == STATEFUL_SET]
    return intent


async def test_no_change_of_the_spec_changes_an_immutable_field(
    client: Client, restricted_namespace: str
) -> None:
    """From the first template to the second, and from there to other specs."""
    here = within(SPECS["minimal"], restricted_namespace)
    await send(client, stateful_set(here, None), here.owner())
    live = gen.stateful_set(here.name)
    for spec in ({}, EVERYTHING, {"version": "2.4.1"}):
        await send(client, stateful_set(here.initialized().with_spec(**spec), live), here.owner())
    changed = copy.deepcopy(stateful_set(here, None).body)
    changed["spec"]["serviceName"] = "other"
    with pytest.raises(Invalid):
        await send(client, Intent(STATEFUL_SET, changed), here.owner())


async def test_a_service_follows_every_change_of_the_spec(
    client: Client, restricted_namespace: str
) -> None:
    """The API server refuses to change clusterIP."""
    metrics = [{"scrapeProfile": profile} for profile in ("Active", "AllNodes", "Active")]
    for here in (within(monitor(settings), restricted_namespace) for settings in metrics):
        meant = gen.resolved(here)
        assert meant.exposure.monitor is not None
        intent = metrics_service(meant, meant.exposure.monitor)
        live = await send(client, intent, here.owner())
        assert live["spec"]["selector"] == intent.body["spec"]["selector"]
    for kind in ("ClusterIP", "NodePort", "LoadBalancer", "ClusterIP"):
        here = within(gen.cluster(service={"type": kind}), restricted_namespace)
        live = await send(client, public_service(gen.resolved(here)), here.owner())
        assert live["spec"]["type"] == kind


class TestSecrets:
    @staticmethod
    def context(client: Client) -> Context:
        clock = SystemClock()
        store: SecretStore[SecretReading] = SecretStore(client, clock, secret_reading)
        events = EventRecorder(client, Reporter("example.com/itest", "1"), clock=clock)
        return Context(client, store, clock, lambda count: b"\x07" * count, events)

    async def test_all_four_are_created_and_the_generated_ones_never_change(
        self, client: Client, restricted_namespace: str
    ) -> None:
        here = within(SPECS["minimal"], restricted_namespace)
        meant, context = gen.resolved(here), self.context(client)
        effects: dict[str, type[Effect]] = {
            names.unseal_key_secret(here.name): DrawUnsealKey,
            names.root_token_secret(here.name): DrawRootToken,
            names.tls_ca_secret(here.name): IssueAuthority,
            names.tls_server_secret(here.name): IssueServerCertificate,
        }
        before = {}
        for name, effect in effects.items():
            await EFFECTS[effect](context, meant, effect(name))
            before[name] = await client.get(SECRET, ObjectKey(restricted_namespace, name))
            assert before[name]["metadata"]["ownerReferences"] == [here.owner().reference()]
        for name, effect in effects.items():
            renewed = name == names.tls_server_secret(here.name)
            again = IssueServerCertificate(name, uid_of(before[name])) if renewed else effect(name)
            await EFFECTS[effect](context, meant, again)
            after = await client.get(SECRET, ObjectKey(restricted_namespace, name))
            assert (after == before[name]) is not renewed, name

    async def test_a_generated_key_cannot_be_overwritten(
        self, client: Client, restricted_namespace: str
    ) -> None:
        here = within(SPECS["minimal"], restricted_namespace)
        name = names.unseal_key_secret(here.name)
        await draw_unseal_key(self.context(client), gen.resolved(here), DrawUnsealKey(name))
        op = {"op": "replace", "path": "/data/key", "value": "AAAA"}
        with pytest.raises(Invalid, match="immutable"):
            await client.json_patch(SECRET, ObjectKey(restricted_namespace, name), [op])
