"""The client on a real API server, beyond the cases of tests/contract."""

import asyncio

import pytest

from runtime.builtin_kinds import CONFIG_MAP, SERVICE
from runtime.client.client import Client
from runtime.client.listing import ListOptions
from runtime.errors import (
    BadRequest,
    Invalid,
    MalformedApply,
)
from runtime.types import key_of
from tests.integration.config_maps import config_map


async def test_an_apply_stores_every_character_as_it_is(client: Client, namespace: str) -> None:
    # The server reads apply bodies as YAML; a create of the same text is read as JSON.
    odd = "".join(map(chr, (*range(1, 0x100), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF, 0x1F600)))
    body = config_map(namespace, odd=odd, looks="{a: 1}", number="1", yes="yes", date="2030-01-01")
    response = await client.apply(CONFIG_MAP, body, field_manager="me", force=True)
    assert response.object["data"] == body["data"]
    body["metadata"]["name"] = "created"
    assert (await client.create(CONFIG_MAP, body, field_manager="me"))["data"] == body["data"]


async def test_an_invalid_object_names_its_fields(client: Client, namespace: str) -> None:
    service = {**config_map(namespace), "kind": "Service", "spec": {"ports": []}}
    del service["data"]
    with pytest.raises(Invalid) as caught:
        await client.create(SERVICE, service, field_manager="me")
    assert "spec.ports" in {cause.field for cause in caught.value.causes}


async def test_unknown_fields_are_refused(client: Client, namespace: str) -> None:
    body = {**config_map(namespace), "dta": {}}
    with pytest.raises(BadRequest, match="dta"):
        await client.create(CONFIG_MAP, body, field_manager="me")
    with pytest.raises(MalformedApply, match="dta"):
        await client.apply(CONFIG_MAP, body, field_manager="me", force=True)


async def test_more_than_a_thousand_objects_come_in_pages(client: Client, namespace: str) -> None:
    names = {f"item-{number:04}" for number in range(1200)}
    pending = iter(sorted(names))

    async def worker() -> None:
        for name in pending:
            await client.create(CONFIG_MAP, config_map(namespace, name), field_manager="me")

    await asyncio.gather(*(worker() for _ in range(16)))
    paged = await client.list(CONFIG_MAP, namespace)
    whole = await client.list(CONFIG_MAP, namespace, options=ListOptions(limit=0))
    for answer in (paged, whole):
        assert {key_of(item).name for item in answer.items} == names
        assert {item["kind"] for item in answer.items} == {"ConfigMap"}
    assert int(whole.resource_version) >= int(paged.resource_version)
    partial = await client.list(CONFIG_MAP, namespace, options=ListOptions(metadata_only=True))
    assert {key_of(item).name for item in partial.items} == names
    assert all(item["kind"] == "ConfigMap" and "data" not in item for item in partial.items)
