"""Owned apply and lists: items of others are kept, or reverted.

This depends on the list type of the field (Kubernetes API reference, "Merge strategy"): in a map
list each item has its own owner, an atomic list has one owner.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from runtime.apply.intent import Intent
from runtime.builtin_kinds import NETWORK_POLICY, ROLE_BINDING, SERVICE
from runtime.client.client import Client
from runtime.client.credentials import KubeconfigCredentials
from runtime.types import Object, Resource
from runtime.verdict import Verdict
from tests.integration.owned import LABELS, Bench, run_operator

POLICY: Object = {
    "podSelector": {"matchLabels": {"app": "a"}},
    "policyTypes": ["Ingress"],
    "ingress": [
        {
            "from": [{"podSelector": {"matchLabels": {"app": "b"}}}],
            "ports": [{"port": 8200, "protocol": "TCP"}],
        }
    ],
}
BINDING: Object = {
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
    "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "n"}],
}
SELECTOR = {"selector": {"app": "a"}}
PORT = {"name": "api", "port": 8200, "targetPort": 8200, "protocol": "TCP"}


@pytest_asyncio.fixture
async def bench(
    credentials: KubeconfigCredentials, client: Client, namespace: str
) -> AsyncIterator[Bench]:
    async with run_operator(credentials, client, namespace) as bench:
        yield bench


def intent(bench: Bench, resource: Resource, content: Object) -> Intent:
    metadata = {"name": "l", "namespace": bench.namespace, "labels": LABELS}
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    return Intent(resource, {**body, **content})


# description: (resource, our content, JSON patch path and value that another client adds)
ATOMIC: dict[str, tuple[Resource, Object, str, Any]] = {
    "a port in a rule of a policy": (
        NETWORK_POLICY,
        {"spec": POLICY},
        "/spec/ingress/0/ports/-",
        {"port": 22, "protocol": "TCP"},
    ),
    "a peer in a rule of a policy": (
        NETWORK_POLICY,
        {"spec": POLICY},
        "/spec/ingress/0/from/-",
        {"namespaceSelector": {}},
    ),
    "a rule of a policy": (NETWORK_POLICY, {"spec": POLICY}, "/spec/ingress/-", {}),
    "a subject of a binding": (
        ROLE_BINDING,
        BINDING,
        "/subjects/-",
        {"kind": "ServiceAccount", "name": "intruder", "namespace": "n"},
    ),
}


@pytest.mark.parametrize(("resource", "content", "path", "value"), ATOMIC.values(), ids=ATOMIC)
async def test_t24_an_item_added_to_an_atomic_list_is_removed_with_one_apply(
    bench: Bench, resource: Resource, content: Object, path: str, value: Any
) -> None:
    expected = intent(bench, resource, content)
    await bench.ensure(expected)
    op = {"op": "add", "path": path, "value": value}
    edited = await bench.client.json_patch(resource, expected.key, [op], field_manager="somebody")
    await bench.await_cache(edited, resource)
    before = bench.requests
    assert (await bench.ensure(expected)).verdict is Verdict.UPDATED
    assert (await bench.ensure(expected)).verdict is Verdict.SKIPPED
    assert bench.requests == before + 1
    live = await bench.live("l", resource)
    for field in content:
        assert live[field] == content[field]


async def test_t24_an_item_added_to_a_map_list_is_kept(bench: Bench) -> None:
    expected = intent(bench, SERVICE, {"spec": {**SELECTOR, "ports": [PORT]}})
    await bench.ensure(expected)
    theirs = {"name": "theirs", "port": 80, "targetPort": 80, "protocol": "TCP"}
    body = intent(bench, SERVICE, {"spec": {"ports": [theirs]}}).body
    await bench.edit(body)
    before = bench.requests
    assert (await bench.ensure(expected)).verdict is Verdict.SKIPPED
    assert bench.requests == before
    live = await bench.live("l", SERVICE)
    assert [port["name"] for port in live["spec"]["ports"]] == ["api", "theirs"]
