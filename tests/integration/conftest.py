"""Fixtures: one control plane per session, one namespace and one client per test.

The name of the rig has the process id, so that two sessions on one machine do not share servers,
which tests kill.
"""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from baoctl.generate.main import CRD_FOLDER, ROOT
from contracts.api.group import BACKUPS, CLUSTERS, RESTORES, TENANTS
from contracts.datacenter.kinds import DATACENTERS, SERVICE_SETS, WORKLOADS
from e2e.rig import Rig, images
from e2e.rig.kube import wait_established
from e2e.rig.paths import Cache, cache_root
from e2e.rig.progress import to_stderr
from e2e.rig.versions import OPENBAO
from runtime.builtin_kinds import NAMESPACE
from runtime.client.client import Client
from runtime.client.credentials import KubeconfigCredentials, from_kubeconfig
from runtime.clock import SystemClock
from runtime.metrics.metrics import Metrics
from runtime.types import ObjectKey, uid_of

# By duration, the longest first: autopilot runs every ten seconds. `make test` runs the scenario of
# e2e/life with them.
LONG = (
    "test_life", "test_upgrade_job_sets", "test_restore_job", "test_upgrade_job",
    "test_restore_test_server", "test_config_server", "test_real_managers", "test_seal_server",
    "test_real_outage", "test_first_boot_server",
)  # fmt: skip
KINDS = (CLUSTERS, TENANTS, BACKUPS, RESTORES, DATACENTERS, SERVICE_SETS, WORKLOADS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the files that wait for real servers first, so that no worker gets one at the end."""
    items.sort(key=lambda item: _place(item.path.stem))


def _place(file: str) -> int:
    return LONG.index(file) if file in LONG else len(LONG)


@pytest.fixture(scope="session")
def control_plane() -> Iterator[Rig]:
    """etcd and kube-apiserver; a test that stops one of them restarts it before it ends."""
    rig = Rig(f"itest-{os.getpid()}")
    rig.up(control_plane=True)
    try:
        yield rig
    finally:
        rig.down()


@pytest.fixture(scope="session")
def control_plane_with_crds(control_plane: Rig) -> Rig:
    """The control plane with all CRDs, which the API server accepts without a warning.

    They are never deleted: to delete a CRD, the API server lists and deletes its objects, polls
    every five seconds for a minute, and starts again (apiextensions, crd_finalizer).
    """
    folder = str(ROOT / CRD_FOLDER)
    control_plane.kubectl("apply", "--server-side", "--warnings-as-errors", "-k", folder)
    wait_established(control_plane.kubectl, *(f"crd/{kind}" for kind in KINDS))
    return control_plane


@pytest_asyncio.fixture
async def credentials(control_plane: Rig) -> KubeconfigCredentials:
    """The cluster administrator."""
    return await from_kubeconfig(str(control_plane.kubeconfig), None, SystemClock())


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest_asyncio.fixture
async def client(credentials: KubeconfigCredentials, metrics: Metrics) -> AsyncIterator[Client]:
    client = Client(credentials, user_agent="itest", clock=SystemClock(), metrics=metrics)
    try:
        yield client
    finally:
        await client.close()


@pytest_asyncio.fixture
async def namespace(client: Client) -> AsyncIterator[str]:
    """A namespace for this test.

    It is deleted afterwards but stays Terminating, because there is no controller manager; its name
    is not reused.
    """
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "itest-"}}
    namespace = await client.create(NAMESPACE, body, field_manager="itest")
    name: str = namespace["metadata"]["name"]
    yield name
    await client.delete(NAMESPACE, ObjectKey("", name), uid=uid_of(namespace))


@pytest.fixture(scope="session")
def bao() -> Path:
    """The binary of the OpenBao server."""
    return images.openbao_binary(Cache(cache_root()), OPENBAO, to_stderr())
