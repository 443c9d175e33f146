"""The policy for tenants on a real API server: no user provisions a namespace of another user."""

from typing import Any

import pytest

from contracts.admission.policy import PREFIX
from contracts.admission.tenants import OPERATOR_MESSAGE, TARGET_MESSAGE
from contracts.api.group import TENANTS
from contracts.naming.installation import NAMESPACE
from e2e.rig import Rig
from runtime.client.client import Client
from runtime.errors import Forbidden, Invalid
from runtime.types import Object
from tests.integration.accounts import Account, make
from tests.integration.admission.cases import OTHER
from tests.integration.admission.people import MANAGER, PLACE, People, client_as


def _tenant(namespace: str, target: str, **metadata: Any) -> Object:
    return {
        "apiVersion": TENANTS.api_version,
        "kind": TENANTS.kind,
        "metadata": {"name": "t", "namespace": namespace, **metadata},
        "spec": {"targetNamespace": target},
    }


async def _apply(client: Client, body: Object, *, dry_run: bool = True) -> None:
    await client.apply(TENANTS, body, field_manager=MANAGER, force=True, dry_run=dry_run)


@pytest.fixture(scope="module")
def owner(
    control_plane_with_crds: Rig, people: People, tmp_path_factory: pytest.TempPathFactory
) -> Account:
    """A user with the role `admin` in one namespace."""
    folder = tmp_path_factory.mktemp("owner")
    return make(control_plane_with_crds, PLACE, "tenants", folder, [f"{PREFIX}admin"])


async def test_attack_t22_a_tenant_reaches_its_own_namespace_only(owner: Account) -> None:
    async with client_as(owner) as client:
        await _apply(client, _tenant(PLACE, PLACE))
        with pytest.raises(Forbidden) as caught:
            await _apply(client, _tenant(PLACE, OTHER))
    assert f"denied request: spec.targetNamespace: {TARGET_MESSAGE}" in str(caught.value)


async def test_a_tenant_in_the_operators_namespace_may_target_any_other(
    people: People, client: Client
) -> None:
    await _apply(client, _tenant(NAMESPACE, OTHER))
    with pytest.raises(Forbidden) as caught:
        await _apply(client, _tenant(NAMESPACE, NAMESPACE))
    assert f"denied request: spec.targetNamespace: {OPERATOR_MESSAGE}" in str(caught.value)


async def test_the_target_never_changes(people: People, client: Client) -> None:
    await _apply(client, _tenant(NAMESPACE, PLACE), dry_run=False)
    with pytest.raises(Invalid, match=r"spec\.targetNamespace: .*is immutable"):
        await _apply(client, _tenant(NAMESPACE, OTHER))


async def test_a_metadata_change_is_not_checked(owner: Account, client: Client) -> None:
    await _apply(client, _tenant(PLACE, PLACE), dry_run=False)
    async with client_as(owner) as user:
        await _apply(user, _tenant(PLACE, PLACE, labels={"a": "b"}))
