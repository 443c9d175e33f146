"""The client on a real API server: the verbs, and the error class of each refusal."""

import asyncio
import base64
from pathlib import Path

import pytest
import yaml
from yarl import URL

from e2e.rig import Rig
from runtime.builtin_kinds import CONFIG_MAP, NAMESPACE, SERVICE, STATEFUL_SET
from runtime.client.client import Client
from runtime.client.credentials import in_cluster
from runtime.client.listing import ListOptions
from runtime.clock import SystemClock
from runtime.errors import (
    AlreadyExists,
    ApplyConflict,
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    MalformedApply,
    NamespaceTerminating,
    NotFound,
    ResourceVersionTooLarge,
    Unauthorized,
)
from runtime.types import Object, ObjectKey, Resource, key_of, resource_version_of, uid_of
from tests.integration.config_maps import config_map

UNKNOWN = Resource("shop.example", "v1", "Shop", "shops")


def with_uid(obj: Object, uid: str) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "uid": uid}}


async def test_an_apply_reports_a_creation_and_a_repeated_one_changes_nothing(
    client: Client, namespace: str
) -> None:
    body = config_map(namespace, a="1")
    first, second = [
        await client.apply(CONFIG_MAP, body, field_manager="me", force=True) for _ in range(2)
    ]
    assert (first.created, second.created) == (True, False)
    assert resource_version_of(first.object) == resource_version_of(second.object)


async def test_an_apply_stores_every_character_as_it_is(client: Client, namespace: str) -> None:
    # The server reads apply bodies as YAML; a create of the same text is read as JSON.
    odd = "".join(map(chr, (*range(1, 0x100), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF, 0x1F600)))
    body = config_map(namespace, odd=odd, looks="{a: 1}", number="1", yes="yes", date="2030-01-01")
    response = await client.apply(CONFIG_MAP, body, field_manager="me", force=True)
    assert response.object["data"] == body["data"]
    body["metadata"]["name"] = "created"
    assert (await client.create(CONFIG_MAP, body, field_manager="me"))["data"] == body["data"]


async def test_a_dry_run_responds_and_stores_nothing(client: Client, namespace: str) -> None:
    body = config_map(namespace, a="1")
    trial = await client.apply(CONFIG_MAP, body, field_manager="me", force=True, dry_run=True)
    assert trial.object["data"] == {"a": "1"}
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAP, key_of(body))


async def test_a_uid_in_an_apply_is_a_precondition(client: Client, namespace: str) -> None:
    body = config_map(namespace, a="1")
    stranger = with_uid(body, "00000000-1")
    with pytest.raises(Conflict):
        await client.apply(CONFIG_MAP, stranger, field_manager="me", force=True)
    made = (await client.apply(CONFIG_MAP, body, field_manager="me", force=True)).object
    with pytest.raises(Conflict):
        await client.apply(CONFIG_MAP, stranger, field_manager="me", force=True)
    again = with_uid(config_map(namespace, a="2"), uid_of(made))
    response = await client.apply(CONFIG_MAP, again, field_manager="me", force=True)
    assert (response.created, response.object["data"]) == (False, {"a": "2"})


async def test_contested_fields_name_their_managers(client: Client, namespace: str) -> None:
    body = config_map(namespace, a="1", b="1")
    await client.apply(CONFIG_MAP, body, field_manager="first", force=True)
    with pytest.raises(ApplyConflict) as caught:
        await client.apply(
            CONFIG_MAP, config_map(namespace, a="2", b="2"), field_manager="second", force=False
        )
    assert set(caught.value.fields) == {".data.a", ".data.b"}
    assert caught.value.managers == ("first",)
    forced = await client.apply(
        CONFIG_MAP, config_map(namespace, a="2"), field_manager="second", force=True
    )
    assert forced.object["data"] == {"a": "2", "b": "1"}


async def test_deletes_have_uid_and_version_preconditions(client: Client, namespace: str) -> None:
    live_config_map = await client.create(CONFIG_MAP, config_map(namespace), field_manager="me")
    key, uid = key_of(live_config_map), uid_of(live_config_map)
    with pytest.raises(Conflict):
        await client.delete(CONFIG_MAP, key, uid="00000000-1")
    with pytest.raises(Conflict):
        await client.delete(CONFIG_MAP, key, uid=uid, resource_version="1")
    await client.delete(
        CONFIG_MAP, key, uid=uid, resource_version=resource_version_of(live_config_map)
    )
    with pytest.raises(NotFound):
        await client.delete(CONFIG_MAP, key, uid=uid)


async def test_refusals_are_typed(client: Client, namespace: str) -> None:
    live_config_map = await client.create(CONFIG_MAP, config_map(namespace), field_manager="me")
    with pytest.raises(AlreadyExists):
        await client.create(CONFIG_MAP, config_map(namespace), field_manager="me")
    await client.json_patch(
        CONFIG_MAP, key_of(live_config_map), [{"op": "add", "path": "/data", "value": {"a": "1"}}]
    )
    with pytest.raises(Conflict):
        await client.update(CONFIG_MAP, live_config_map)
    with pytest.raises(Invalid):
        await client.json_patch(
            CONFIG_MAP, key_of(live_config_map), [{"op": "test", "path": "/data/a", "value": "2"}]
        )
    with pytest.raises(NotFound):
        await client.get(UNKNOWN, ObjectKey(namespace, "web"))
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


async def test_immutable_fields_are_invalid(client: Client, namespace: str) -> None:
    def stateful_set(service: str) -> Object:
        labels = {"app": "web"}
        container = {"name": "web", "image": "registry.example/web:1"}
        return {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"namespace": namespace, "name": "web"},
            "spec": {
                "serviceName": service,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
        }

    await client.apply(STATEFUL_SET, stateful_set("one"), field_manager="me", force=True)
    with pytest.raises(Invalid, match="updates to statefulset spec"):
        await client.apply(STATEFUL_SET, stateful_set("two"), field_manager="me", force=True)


async def test_a_terminating_namespace_has_its_own_error(client: Client, namespace: str) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{namespace}-end"}}
    live_namespace = await client.create(NAMESPACE, body, field_manager="me")
    await client.delete(NAMESPACE, key_of(live_namespace), uid=uid_of(live_namespace))
    with pytest.raises(NamespaceTerminating):
        await client.create(CONFIG_MAP, config_map(f"{namespace}-end"), field_manager="me")


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


async def test_metadata_alone(client: Client, namespace: str) -> None:
    live_config_map = await client.create(
        CONFIG_MAP, config_map(namespace, a="1"), field_manager="me"
    )
    found = await client.get(CONFIG_MAP, key_of(live_config_map), metadata_only=True)
    assert set(found) == {"apiVersion", "kind", "metadata"}
    assert (found["apiVersion"], found["kind"]) == ("v1", "ConfigMap")
    assert uid_of(found) == uid_of(live_config_map)


async def test_selectors(client: Client, namespace: str) -> None:
    for name, colour in (("a", "red"), ("b", "blue")):
        body = config_map(namespace, name)
        body["metadata"]["labels"] = {"colour": colour}
        await client.create(CONFIG_MAP, body, field_manager="me")
    for options in (
        ListOptions(label_selector="colour in (red, green)"),
        ListOptions(field_selector="metadata.name=a"),
    ):
        answer = await client.list(CONFIG_MAP, namespace, options=options)
        assert [key_of(item).name for item in answer.items] == ["a"]


async def test_a_future_resource_version_has_its_own_error(client: Client) -> None:
    options = ListOptions(resource_version="999999999")
    with pytest.raises(ResourceVersionTooLarge):
        await client.list(CONFIG_MAP, options=options)


@pytest.fixture
def service_account(control_plane: Rig, namespace: str, tmp_path: Path) -> Path:
    """The folder that a pod of ServiceAccount web mounts, with an invalid token."""
    control_plane.kubectl("create", "serviceaccount", "web", "-n", namespace)
    config = yaml.safe_load(control_plane.kubeconfig.read_text())
    authority = config["clusters"][0]["cluster"]["certificate-authority-data"]
    (tmp_path / "ca.crt").write_bytes(base64.b64decode(authority))
    (tmp_path / "namespace").write_text(namespace)
    (tmp_path / "token").write_text("nobody.signed.this")
    return tmp_path


async def test_a_service_account_whose_token_is_renewed(
    control_plane: Rig, namespace: str, service_account: Path
) -> None:
    server = URL(control_plane.server)
    environ = {
        "KUBERNETES_SERVICE_HOST": str(server.host),
        "KUBERNETES_SERVICE_PORT": str(server.port),
    }
    clock = SystemClock()
    credentials = in_cluster(clock, root=service_account, environ=environ)
    client = Client(credentials, user_agent="itest", clock=clock)
    try:
        with pytest.raises(Unauthorized):
            await client.get(CONFIG_MAP, ObjectKey(namespace, "web"))
        # Well before the minute after which the file is read again in any case.
        token = control_plane.kubectl("create", "token", "web", "-n", namespace)
        (service_account / "token").write_text(token)
        with pytest.raises(Forbidden, match=f"system:serviceaccount:{namespace}:web"):
            await client.get(CONFIG_MAP, ObjectKey(namespace, "web"))
    finally:
        await client.close()
