"""The recorded refusals (tests/runtime/refusals.json) match those of a real API server."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from runtime.builtin_kinds import CONFIG_MAP, NAMESPACE, SECRET, SERVICE
from runtime.client.client import Client
from runtime.errors import ApiError
from runtime.types import Object, ObjectKey, Resource, uid_of
from tests.runtime.refusal_cases import TABLE

QUOTA = Resource("", "v1", "ResourceQuota", "resourcequotas")
WIDGET = Resource("nowhere.example.com", "v1", "Widget", "widgets")
FORCING = "forcing"
# All others are refused with and without force.
POLITE = frozenset({"field manager conflict"})
NOBODY = "00000000-0000-0000-0000-000000000000"
PORT = {"port": 99, "protocol": "TCP"}

Wish = tuple[Resource, Object]


def of(resource: Resource, name: str, *, content: Any = None, **metadata: Any) -> Wish:
    body = {"apiVersion": resource.api_version, "kind": resource.kind}
    return resource, {**body, "metadata": {"name": name, **metadata}, **(content or {})}


def file(text: str) -> Object:
    return {"data": {"k": text}}


# name in the corpus: the object to apply, in a namespace with `c`, the immutable `frozen` and a
# quota of zero services
WISHES: dict[str, Callable[[], Wish]] = {
    "field manager conflict": lambda: of(CONFIG_MAP, "c", content=file("x")),
    "version conflict": lambda: of(CONFIG_MAP, "c", resourceVersion="1"),
    "uid of another": lambda: of(CONFIG_MAP, "c", uid=NOBODY),
    "uid of none": lambda: of(CONFIG_MAP, "none", uid=NOBODY),
    "unknown field": lambda: of(CONFIG_MAP, "c", content={"spec": {"a": 1}}),
    "duplicate keys": lambda: of(
        SERVICE, "s", content={"spec": {"ports": [{"name": "a", **PORT}, {"name": "b", **PORT}]}}
    ),
    "managed fields in the body": lambda: of(CONFIG_MAP, "c", managedFields=[{"manager": "x"}]),
    "too large": lambda: of(CONFIG_MAP, "c", content=file("x" * (4 << 20))),
    "too large for etcd secret": lambda: of(SECRET, "s", content=file("eHh4" * (1 << 19))),
    "immutable": lambda: of(CONFIG_MAP, "frozen", content={**file("x"), "immutable": True}),
    "name": lambda: of(CONFIG_MAP, "Bad_Name"),
    "quota": lambda: of(SERVICE, "s", content={"spec": {"ports": [PORT]}}),
    "kind gone": lambda: of(WIDGET, "w"),
    "namespace gone": lambda: of(CONFIG_MAP, "c", namespace="nowhere"),
}


@pytest_asyncio.fixture
async def namespace_with_objects(client: Client, namespace: str) -> AsyncIterator[str]:
    await apply(client, namespace, of(CONFIG_MAP, "c", content=file("v")))
    frozen = {**file("v"), "immutable": True}
    await apply(client, namespace, of(CONFIG_MAP, "frozen", content=frozen))
    hard = {"hard": {"services": "0"}}
    await apply(client, namespace, of(QUOTA, "q", content={"spec": hard}))
    # No controller runs here: the test writes the usage.
    counted = {"status": {**hard, "used": {"services": "0"}}}
    await apply(client, namespace, of(QUOTA, "q", content=counted), subresource="status")
    yield namespace


async def apply(
    client: Client,
    namespace: str,
    wish: Wish,
    *,
    by: str = "somebody",
    subresource: str | None = None,
) -> None:
    resource, body = wish
    placed = {**body, "metadata": {"namespace": namespace, **body["metadata"]}}
    await client.apply(
        resource, placed, field_manager=by, force=by == FORCING, subresource=subresource
    )


# aiohttp warns about bodies above one MiB; no regular body is as large.
@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
@pytest.mark.parametrize("name", WISHES)
async def test_t26_the_server_refuses_as_recorded(
    client: Client, namespace_with_objects: str, name: str
) -> None:
    with pytest.raises(ApiError) as refused:
        await apply(
            client,
            namespace_with_objects,
            WISHES[name](),
            by="polite" if name in POLITE else FORCING,
        )
    assert type(refused.value) is TABLE[name][0], str(refused.value)


async def test_t26_a_terminating_namespace_refuses_as_recorded(
    client: Client, namespace: str
) -> None:
    live_namespace = await client.create(
        NAMESPACE,
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "itest-going-"}},
        field_manager="itest",
    )
    name = live_namespace["metadata"]["name"]
    await client.delete(NAMESPACE, ObjectKey("", name), uid=uid_of(live_namespace))
    with pytest.raises(ApiError) as refused:
        await apply(client, name, of(CONFIG_MAP, "c"))
    assert type(refused.value) is TABLE["namespace terminating"][0]
