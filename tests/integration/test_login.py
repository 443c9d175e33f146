"""`baoctl login` on a real API server: the CA and the token that a user may get."""

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from baoctl.commands.api_client import RequestError, Session
from baoctl.commands.login.reads import LoginOptions, account_token, read_authority
from baoctl.commands.login.target import trust_of
from baoctl.exit_codes import ExitCode
from contracts.api.group import API_VERSION, CLUSTER_KIND, CLUSTERS
from contracts.naming import names
from e2e.rig import Rig
from runtime.builtin_kinds import CONFIG_MAP, SECRET
from runtime.client.client import Client
from runtime.clock import SystemClock
from runtime.types import Object, uid_of
from tests.contracts.api.clusters import cluster_object
from tests.integration import accounts

NAME, ACCOUNT = "first", "app"
READER = "login-config-map-reader"


@pytest_asyncio.fixture
async def cluster(control_plane_with_crds: Rig, client: Client, namespace: str) -> Object:
    """A cluster; no operator runs."""
    body = cluster_object(NAME)
    body["metadata"]["namespace"] = namespace
    return await client.create(CLUSTERS, body, field_manager="itest")


@pytest_asyncio.fixture
async def reader(
    control_plane_with_crds: Rig, cluster: Object, namespace: str, tmp_path: Path
) -> AsyncIterator[Client]:
    """A user who may read ConfigMaps, and no Secrets."""
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    async with accounts.client_with(
        control_plane_with_crds, namespace, tmp_path, READER, rule
    ) as client:
        yield client


@pytest.fixture(scope="module")
def pem(control_plane: Rig) -> str:
    """The certificate of a CA."""
    return (control_plane.paths.pki / "ca.crt").read_text(encoding="ascii")


def options(ca_file: Path | None = None, account: str = ACCOUNT) -> LoginOptions:
    return LoginOptions(NAME, (), account, None, "jwt-operator", None, ca_file)


def session(client: Client, namespace: str) -> Session:
    return Session(client, SystemClock(), namespace)


async def authority(
    client: Client, cluster: Object, namespace: str, ca_file: Path | None = None
) -> str:
    api = session(client, namespace)
    return await read_authority(api, options(ca_file), trust_of(cluster), cluster)


async def test_the_authority_is_that_of_the_secret(
    client: Client, cluster: Object, namespace: str, pem: str
) -> None:
    metadata = {"name": names.tls_ca_secret(NAME), "namespace": namespace}
    data = {"ca.crt": base64.b64encode(pem.encode()).decode(), "ca.key": "aHVzaA=="}
    secret: Object = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
    await client.create(SECRET, secret, field_manager="itest")
    assert await authority(client, cluster, namespace) == pem


async def test_without_access_to_the_secret_a_file_or_the_config_map_is_used(
    client: Client, reader: Client, cluster: Object, namespace: str, pem: str, tmp_path: Path
) -> None:
    with pytest.raises(RequestError, match="--ca-file") as denied:
        await authority(reader, cluster, namespace)
    assert denied.value.exit_code == ExitCode.NO_ACCESS
    file = tmp_path / "ca.crt"
    file.write_text(pem)
    assert await authority(reader, cluster, namespace, file) == pem

    metadata = {"name": names.gateway_ca_config_map(NAME), "namespace": namespace}
    config: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"ca.crt": pem},
    }
    config_map = await client.create(CONFIG_MAP, config, field_manager="itest")
    with pytest.raises(RequestError, match="--ca-file"):
        # Any user may have created it.
        await authority(reader, cluster, namespace)
    owner = {
        "apiVersion": API_VERSION, "kind": CLUSTER_KIND, "name": NAME, "uid": uid_of(cluster),
    }  # fmt: skip
    config_map["metadata"]["ownerReferences"] = [owner]
    await client.update(CONFIG_MAP, config_map)
    assert await authority(reader, cluster, namespace) == pem


async def test_a_file_that_cannot_be_used_is_an_error(
    client: Client, cluster: Object, namespace: str, tmp_path: Path
) -> None:
    for file, reason in (
        (tmp_path / "none", "No such file"),
        (Path("/dev/zero"), "not a valid CA"),
        (Path("/dev/null"), "not a valid CA"),
    ):
        with pytest.raises(RequestError, match=reason):
            await authority(client, cluster, namespace, file)


async def test_a_token_is_only_for_this_cluster(
    control_plane_with_crds: Rig, client: Client, cluster: Object, namespace: str, tmp_path: Path
) -> None:
    accounts.make(control_plane_with_crds, namespace, ACCOUNT, tmp_path)
    token = (await account_token(session(client, namespace), options())).reveal()
    payload = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert claims["aud"] == [f"openbao-internal/{namespace}/{NAME}"]
    assert claims["sub"] == f"system:serviceaccount:{namespace}:{ACCOUNT}"
    assert claims["exp"] - claims["iat"] <= 660


async def test_an_unknown_account_and_a_missing_permission_are_reported(
    client: Client, reader: Client, cluster: Object, namespace: str
) -> None:
    with pytest.raises(RequestError, match="--service-account") as missing:
        await account_token(session(client, namespace), options(account="nobody"))
    assert missing.value.exit_code == ExitCode.NOT_FOUND
    with pytest.raises(RequestError, match="create serviceaccounts/token") as denied:
        await account_token(session(reader, namespace), options())
    assert denied.value.exit_code == ExitCode.NO_ACCESS
