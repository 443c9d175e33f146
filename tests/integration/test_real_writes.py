"""Critical writes on a real API server: dry runs, JSON patch tests, preconditions, credentials."""

import base64
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import yaml
from yarl import URL

from e2e.rig import Rig
from runtime.builtin_kinds import CONFIG_MAP
from runtime.client.client import Client
from runtime.client.credentials import ServiceAccountCredentials, in_cluster
from runtime.clock import SystemClock
from runtime.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    PatchFailed,
    TransportError,
    Unauthorized,
)
from runtime.types import Object, ObjectKey, key_of, uid_of
from tests.integration.config_maps import config_map


async def make(client: Client, namespace: str, name: str = "web", **data: str) -> Object:
    return await client.create(
        CONFIG_MAP, config_map(namespace, name, **data), field_manager="itest"
    )


Trial = Callable[[Client, Object], Awaitable[object]]

TRIALS: dict[str, Trial] = {
    "create": lambda client, obj: client.create(
        CONFIG_MAP, config_map(key_of(obj).namespace, "new"), field_manager="itest", dry_run=True
    ),
    "apply": lambda client, obj: client.apply(
        CONFIG_MAP,
        config_map(key_of(obj).namespace, a="2"),
        field_manager="itest",
        force=True,
        dry_run=True,
    ),
    "update": lambda client, obj: client.update(
        CONFIG_MAP, {**obj, "data": {"a": "2"}}, dry_run=True
    ),
    "patch": lambda client, obj: client.json_patch(
        CONFIG_MAP, key_of(obj), [{"op": "replace", "path": "/data/a", "value": "2"}], dry_run=True
    ),
    "delete": lambda client, obj: client.delete(
        CONFIG_MAP, key_of(obj), uid=uid_of(obj), dry_run=True
    ),
}


@pytest.mark.parametrize("trial", TRIALS.values(), ids=TRIALS)
async def test_a_dry_run_succeeds_and_changes_nothing(
    client: Client, namespace: str, trial: Trial
) -> None:
    obj = await make(client, namespace, a="1")
    await trial(client, obj)
    assert await client.get(CONFIG_MAP, key_of(obj)) == obj
    with pytest.raises(NotFound):
        await client.get(CONFIG_MAP, ObjectKey(namespace, "new"))


async def test_a_dry_run_is_refused_as_a_write_is(client: Client, namespace: str) -> None:
    obj = await make(client, namespace, a="1")
    with pytest.raises(Conflict):
        await client.delete(CONFIG_MAP, key_of(obj), uid="00000000-1", dry_run=True)
    stale = {**obj, "metadata": {**obj["metadata"], "resourceVersion": "1"}}
    with pytest.raises(Conflict):
        await client.update(CONFIG_MAP, stale, dry_run=True)


async def test_an_invalid_patch_is_another_error_than_one_that_does_not_fit(
    client: Client, namespace: str
) -> None:
    obj = await make(client, namespace, a="1")
    ops = [{"op": "add", "path": "/data/bad name", "value": "x"}]
    with pytest.raises(Invalid) as caught:
        await client.json_patch(CONFIG_MAP, key_of(obj), ops)
    assert not isinstance(caught.value, PatchFailed)


class Pod:
    """The files that the kubelet mounts into a pod of ServiceAccount web, and its credentials."""

    def __init__(self, rig: Rig, namespace: str, folder: Path) -> None:
        self.rig = rig
        self.namespace = namespace
        self.folder = folder
        rig.kubectl("create", "serviceaccount", "web", "-n", namespace)
        config = yaml.safe_load(rig.kubeconfig.read_text())
        self.authority = base64.b64decode(
            config["clusters"][0]["cluster"]["certificate-authority-data"]
        )
        self.replace("ca.crt", self.authority)
        self.replace("namespace", namespace.encode())
        self.replace("token", b"")

    def replace(self, name: str, content: bytes) -> None:
        (self.folder / "..new").write_bytes(content)
        os.replace(self.folder / "..new", self.folder / name)

    def token(self, *options: str) -> bytes:
        return self.rig.kubectl(
            "create", "token", "web", "-n", self.namespace, "--duration", "10m", *options
        ).encode()

    def bound_token(self, secret: str) -> bytes:
        """A token that is revoked with the deletion of that Secret."""
        self.rig.kubectl("create", "secret", "generic", secret, "-n", self.namespace)
        return self.token("--bound-object-kind", "Secret", "--bound-object-name", secret)

    def credentials(self) -> ServiceAccountCredentials:
        server = URL(self.rig.server)
        environ = {
            "KUBERNETES_SERVICE_HOST": str(server.host),
            "KUBERNETES_SERVICE_PORT": str(server.port),
        }
        return in_cluster(SystemClock(), root=self.folder, environ=environ)


@pytest.fixture
def pod(control_plane: Rig, namespace: str, tmp_path: Path) -> Pod:
    return Pod(control_plane, namespace, tmp_path)


@pytest.fixture
async def in_pod(pod: Pod) -> AsyncIterator[tuple[Client, ServiceAccountCredentials]]:
    credentials = pod.credentials()
    client = Client(credentials, user_agent="itest", clock=SystemClock())
    yield client, credentials
    await client.close()


async def expect_known(client: Client, namespace: str) -> None:
    """Check that the server authenticates the account, which has no permissions."""
    with pytest.raises(Forbidden, match=f"system:serviceaccount:{namespace}:web"):
        await client.get(CONFIG_MAP, ObjectKey(namespace, "web"))


async def test_t33_a_revoked_token_is_replaced_by_the_one_in_the_file(
    pod: Pod, in_pod: tuple[Client, ServiceAccountCredentials]
) -> None:
    client, credentials = in_pod
    pod.replace("token", pod.bound_token("first"))
    held = await credentials.headers()
    pod.rig.kubectl("delete", "secret", "first", "-n", pod.namespace)
    # The file has no newer token, so the error is raised.
    with pytest.raises(Unauthorized):
        await client.get(CONFIG_MAP, ObjectKey(pod.namespace, "web"))
    assert await credentials.headers() == held
    pod.replace("token", pod.token())
    await expect_known(client, pod.namespace)
    assert await credentials.headers() != held


async def test_t33_requests_continue_while_token_and_ca_are_replaced(
    pod: Pod, in_pod: tuple[Client, ServiceAccountCredentials]
) -> None:
    client, credentials = in_pod
    pod.replace("token", pod.token())
    for _ in range(5):
        await expect_known(client, pod.namespace)
    context = credentials.ssl_context()
    stranger = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    pod.replace("ca.crt", stranger)
    await expect_known(client, pod.namespace)
    assert credentials.ssl_context() is context, "an invalid certificate must not be used"
    pod.replace("ca.crt", pod.authority + b"\n")
    await expect_known(client, pod.namespace)
    assert credentials.ssl_context() is not context
    pod.replace("token", pod.token())
    await expect_known(client, pod.namespace)


async def test_t33_a_server_with_a_certificate_of_another_ca_is_refused(
    pod: Pod, in_pod: tuple[Client, ServiceAccountCredentials]
) -> None:
    client, _ = in_pod
    other = yaml.safe_load(pod.rig.kubeconfig.read_text())["users"][0]["user"]
    pod.replace("token", pod.token())
    # A valid certificate that is not the CA of the server.
    pod.replace("ca.crt", base64.b64decode(other["client-certificate-data"]))
    with pytest.raises(TransportError, match="its certificate cannot be verified"):
        await client.get(CONFIG_MAP, ObjectKey(pod.namespace, "web"))
