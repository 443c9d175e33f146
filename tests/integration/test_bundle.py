"""`baoctl bundle` on a real API server: missing permissions are named, and Secrets are not read."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from baoctl.commands.api_client import RequestError, Session
from baoctl.commands.bundle.collect import collect
from baoctl.commands.bundle.contents import bundle_of
from baoctl.exit_codes import ExitCode
from contracts.api.group import CLUSTERS
from contracts.naming import labels
from e2e.rig import Rig
from runtime.builtin_kinds import CONFIG_MAP, SECRET
from runtime.client.client import Client
from runtime.clock import SystemClock
from runtime.errors import Forbidden
from runtime.types import Object, Resource
from tests.contracts.api.clusters import cluster_object
from tests.integration import accounts

NAME = "first"
READER = "bundle-cluster-reader"
HUSH = "aHVzaC1odXNo"


def object_of_cluster(kind: Resource, namespace: str, name: str, **fields: object) -> Object:
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": {labels.CLUSTER: NAME},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": HUSH},
    }
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **fields}


@pytest_asyncio.fixture
async def surroundings(control_plane_with_crds: Rig, client: Client, namespace: str) -> str:
    """A cluster with a ConfigMap and a Secret; no operator runs."""
    cluster = cluster_object(NAME)
    cluster["metadata"]["namespace"] = namespace
    await client.create(CLUSTERS, cluster, field_manager="itest")
    config = object_of_cluster(CONFIG_MAP, namespace, "config", data={"config.hcl": "ui = true\n"})
    await client.create(CONFIG_MAP, config, field_manager="itest")
    secret = object_of_cluster(SECRET, namespace, "root-token", data={"token": HUSH})
    await client.create(SECRET, secret, field_manager="itest")
    return namespace


@pytest_asyncio.fixture
async def reader(
    control_plane_with_crds: Rig, surroundings: str, tmp_path: Path
) -> AsyncIterator[Client]:
    """A user who may only read clusters."""
    rule = {"apiGroups": ["openbao.org"], "resources": ["openbaoclusters"], "verbs": ["get"]}
    async with accounts.client_with(
        control_plane_with_crds, surroundings, tmp_path, READER, rule
    ) as client:
        yield client


def session(client: Client, namespace: str) -> Session:
    return Session(client, SystemClock(), namespace)


async def test_a_secret_gives_its_name_and_nothing_else(client: Client, surroundings: str) -> None:
    read = await collect(session(client, surroundings), NAME, "operators", 10)
    collected, version = read.collected, read.server_version
    bundle = bundle_of(collected)
    assert json.loads(version)["gitVersion"].startswith("v")
    assert bundle.files["configmaps/config/config.hcl"] == "ui = true\n"
    (secret,) = json.loads(bundle.files["secrets.json"])
    assert secret["metadata"]["name"] == "root-token"
    assert HUSH not in "".join(bundle.files.values())
    assert bundle.unread == ()


async def test_a_missing_right_is_named_for_each_kind(reader: Client, surroundings: str) -> None:
    collected = (await collect(session(reader, surroundings), NAME, "operators", 10)).collected
    unread = {part.part: part.reason for part in bundle_of(collected).unread}
    kinds = {"pods", "secrets", "configmaps", "jobs.batch", "openbaobackups.openbao.org"}
    assert kinds <= set(unread)
    assert all("forbidden" in unread[kind] for kind in kinds)
    assert json.loads(bundle_of(collected).files["cluster.json"])["metadata"]["name"] == NAME


async def test_without_the_cluster_there_is_no_archive(
    reader: Client, client: Client, surroundings: str
) -> None:
    with pytest.raises(RequestError) as missing:
        await collect(session(client, surroundings), "other", "operators", 10)
    assert missing.value.exit_code == ExitCode.NOT_FOUND
    with pytest.raises(Forbidden):
        await collect(session(reader, "default"), NAME, "operators", 10)
