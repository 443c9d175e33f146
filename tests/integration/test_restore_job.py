"""The restore Job with a real server, a store in a folder, and the fake API server."""

import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from baoctl.jobs.context import JobContext
from baoctl.jobs.failures import JobFailure
from baoctl.jobs.leader_client import ServerAddresses
from baoctl.jobs.restore import restore
from baoctl.jobs.store.egress_policy import EgressPolicy
from contracts.api.cluster.self_init import SelfInitRequest
from contracts.api.group import RESTORES
from contracts.api.job_result import RestoreReport
from contracts.hcl.render import ConfigInput, OidcBootstrap, render_config, render_self_init
from contracts.hcl.roles import backup_role, restore_role
from contracts.jobs.env import RestoreEnv, RunEnv, ServerEnv, StoreEnv
from contracts.jobs.snapshot_manifest import Manifest
from contracts.naming.snapshot_keys import manifest_key
from contracts.rfc3339 import rfc3339
from managers.bao.client import Bao
from runtime.client.write_guard import allow_writes
from runtime.clock import SystemClock
from runtime.testing.api_server.kinds import Kind
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.types import Object, ObjectKey
from tests.gen.snapshots import manifest_for
from tests.integration.account_tokens import AUDIENCE, ISSUER, Signer
from tests.integration.bao_server import BaoServer, serve

NS, LOOPBACK = "ns", "127.0.0.1"
KEY = "ns/c/2026-01-01T03-00-00Z-0a1b2c3d.snap"
NOTE = "secret/note"
READER = "reader"
SEAL = "static:operator-generated-v1"
RESTORE = ObjectKey(NS, "monday")
RESTORE_OBJECT = {
    "apiVersion": RESTORES.api_version,
    "kind": RESTORES.kind,
    "metadata": {"name": RESTORE.name, "namespace": NS},
    "spec": {"cluster": "c", "source": {}},
}
pytestmark = [pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]


@dataclass(frozen=True)
class Target:
    """A real server, and a snapshot of it in which the note is `before`."""

    server: BaoServer
    folder: Path
    signer: Signer
    content: bytes
    manifest: Manifest

    async def log_in(self, role: str, subject: str) -> str:
        """A token of the server."""
        body = {"role": role, "jwt": self.signer.token(subject)}
        _, answer = await self.server.call("POST", "auth/jwt-operator/login", body)
        token: str = answer["auth"]["client_token"]
        return token

    async def note(self) -> Any:
        """Read the note."""
        await self.server.active()
        token = await self.log_in(READER, _subject("backup"))
        _, answer = await self.server.call("GET", NOTE, token=token)
        return answer["data"]["value"]

    async def write(self, value: str) -> None:
        """Write the note."""
        await self.server.active()
        token = await self.log_in(READER, _subject("backup"))
        await self.server.call("POST", NOTE, {"value": value}, token)


@dataclass
class Run:
    """One restore: its object, and the environment of its Job."""

    api: FakeApiServer
    receipts: Object
    env: RestoreEnv
    here: JobContext

    async def restore(self, **changes: Any) -> RestoreReport:
        """Write the status of the operator, and run the Job."""
        client = client_of(FakeWire(self.api, random.Random(0), latency=(0.0, 0.0)))
        if "status" not in self.live:
            body = {**self.live, "metadata": {"name": RESTORE.name, "namespace": NS}}
            await client.apply(
                RESTORES,
                {**body, "status": self.receipts},
                field_manager="operator",
                force=True,
                subresource="status",
            )
        return await restore(replace(self.env, **changes), self.here, client)

    @property
    def live(self) -> Object:
        live = self.api.get(RESTORES, RESTORE)
        assert live is not None
        return live

    @property
    def status(self) -> Object:
        status: Object = self.live.get("status", {})
        return status


def _subject(job: str) -> str:
    return f"system:serviceaccount:{NS}:c-{job}-serviceaccount"


def _config(signer: Signer) -> ConfigInput:
    roles = (
        backup_role("openbao-operator-backup", (_subject("backup"),)),
        restore_role("openbao-operator-restore", (_subject("restore"),)),
    )
    role = {
        "role_type": "jwt", "user_claim": "sub", "bound_audiences": [AUDIENCE],
        "bound_subject": _subject("backup"), "token_policies": [READER],
    }  # fmt: skip
    policy = f'path "{NOTE}" {{ capabilities = ["create", "read", "update"] }}'
    requests = {
        "engine": ("sys/mounts/secret", {"type": "kv"}),
        "note": (NOTE, {"value": "before"}),
        "policy": (f"sys/policies/acl/{READER}", {"policy": policy}),
        "role": (f"auth/jwt-operator/role/{READER}", role),
    }
    made = tuple(
        SelfInitRequest.model_validate(
            {"operation": "update", "name": name, "path": path, "data": data}
        )
        for name, (path, data) in requests.items()
    )
    oidc = OidcBootstrap(AUDIENCE, ISSUER, (signer.public,), roles)
    return ConfigInput("c", NS, oidc=oidc, requests=made)


@contextmanager
def _running_server(bao: Path, folder: Path, signer: Signer) -> Iterator[BaoServer]:
    config = _config(signer)
    with serve(bao, folder, render_config(config), render_self_init(config)) as server:
        yield server


async def _snapshot(server: BaoServer, folder: Path, signer: Signer) -> tuple[bytes, Manifest]:
    await server.active()
    body = {"role": "openbao-operator-backup", "jwt": signer.token(_subject("backup"))}
    _, answer = await server.call("POST", "auth/jwt-operator/login", body)
    token, port = answer["auth"]["client_token"], int(server.url.rpartition(":")[2])
    async with Bao(
        (folder / "tls" / "ca.crt").read_text(), LOOPBACK, port, guard=allow_writes
    ) as client:
        health = await client.health(LOOPBACK)
        async with client.snapshot(LOOPBACK, token) as pieces:
            content = b"".join([piece async for piece in pieces])
    manifest = manifest_for(
        KEY, content, cluster_id=health.cluster_id, version=health.version, seal=SEAL
    )
    return content, manifest


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def target(bao: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Target]:
    folder, signer = tmp_path_factory.mktemp("target"), Signer()
    with _running_server(bao, folder, signer) as server:
        content, manifest = await _snapshot(server, folder, signer)
        yield Target(server, folder, signer, content, manifest)


Make = Callable[..., Run]


@pytest.fixture
def make(target: Target, tmp_path: Path) -> Make:
    """Prepare a restore: `status` replaces fields of its execution, `content` the snapshot."""

    def run(content: bytes | None = None, manifest: Manifest | None = None, **status: Any) -> Run:
        clock = SystemClock()
        snapshot = tmp_path / "store" / "bucket" / KEY
        snapshot.parent.mkdir(parents=True)
        snapshot.write_bytes(target.content if content is None else content)
        beside = tmp_path / "store" / "bucket" / manifest_key(KEY)
        beside.write_bytes((manifest or target.manifest).to_bytes())
        (tmp_path / "scratch").mkdir()
        (tmp_path / "jwt").write_text(target.signer.token(_subject("restore")))
        api = FakeApiServer(clock, random.Random(0), kinds=(Kind(RESTORES, status=True),))
        live = api.put(RESTORES, RESTORE_OBJECT)
        execution = {"stage": "Created", "jobUID": "job", "operationID": "run", **status}

        async def resolve(host: str) -> str:
            return LOOPBACK

        port = int(target.server.url.rpartition(":")[2])
        env = RestoreEnv(
            run=RunEnv("openbaorestores", NS, "monday", live["metadata"]["uid"], "p", "pod", "job"),
            store=StoreEnv("pvc", "bucket", volume_path=str(tmp_path / "store")),
            server=ServerEnv(
                NS, "c", ("c-0",), server_name=LOOPBACK,
                ca_path=str(target.folder / "tls" / "ca.crt"), role="openbao-operator-restore",
                jwt_path=str(tmp_path / "jwt"),
            ),
            key=KEY,
            expected_seal=SEAL,
            deadline=rfc3339(clock.now() + timedelta(minutes=5)),
            scratch_path=str(tmp_path / "scratch"),
        )  # fmt: skip
        here = JobContext(clock, {}, EgressPolicy(), ServerAddresses(resolve, port))
        return Run(api, {"phase": "Running", "execution": execution}, env, here)

    return run


async def test_a_restore_replaces_the_data_and_keeps_the_claim(target: Target, make: Make) -> None:
    await target.write("after")
    run = make()
    report = await run.restore()
    assert (report.outcome, report.message) == (
        "Succeeded",
        "the leader has the data of the snapshot",
    )
    assert report.snapshot is not None
    assert report.snapshot.digest == target.manifest.digest
    assert report.snapshot.cluster_id == target.manifest.cluster_id
    claim = run.status["submissionClaim"]
    assert (claim["podUID"], claim["target"], claim["size"]) == ("pod", "c-0", len(target.content))
    assert await target.note() == "before"


async def test_a_second_job_of_the_same_restore_sends_nothing(target: Target, make: Make) -> None:
    run = make()
    await run.restore()
    await target.write("later")
    with pytest.raises(JobFailure, match="already has the claim"):
        await run.restore(run=replace(run.env.run, pod_uid="another"))
    assert await target.note() == "later"


async def test_after_the_deadline_nothing_is_sent(target: Target, make: Make) -> None:
    await target.write("kept")
    run = make()
    with pytest.raises(JobFailure, match="the deadline has passed"):
        await run.restore(deadline="2026-01-01T00:00:00Z")
    assert "submissionClaim" not in run.status
    assert await target.note() == "kept"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"expected_digest": "sha256:" + "0" * 64}, "expectedDigest"),
        ({"expected_size": 1}, "expectedSize"),
        ({"expected_cluster_id": "another"}, "expectedClusterID"),
        ({"expected_version": "2.3.0"}, "expectedVersion"),
        ({"expected_seal": "static:other"}, "the seal of the cluster"),
    ],
)
async def test_an_unexpected_snapshot_is_not_sent(
    target: Target, make: Make, changes: dict[str, Any], told: str
) -> None:
    run = make()
    with pytest.raises(JobFailure, match=told):
        await run.restore(**changes)
    assert "submissionClaim" not in run.status


async def test_recreated_servers_get_their_data_without_a_cluster_id(
    target: Target, make: Make
) -> None:
    """The id differs from that of the snapshot: the operator verified the name of the cluster."""
    await target.write("after")
    run = make(manifest=replace(target.manifest, cluster_id="before-it-was-made-anew"))
    report = await run.restore(any_cluster_id=True)
    assert report.outcome == "Succeeded"
    assert await target.note() == "before"


async def test_a_truncated_snapshot_is_not_sent(target: Target, make: Make) -> None:
    run = make(content=target.content[: len(target.content) // 2])
    with pytest.raises(JobFailure, match="not a valid snapshot"):
        await run.restore()
    assert "submissionClaim" not in run.status


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def foreign(
    bao: Path, target: Target, tmp_path_factory: pytest.TempPathFactory
) -> tuple[bytes, Manifest]:
    """A snapshot of a server whose seal has another key."""
    folder = tmp_path_factory.mktemp("other")
    with _running_server(bao, folder, target.signer) as server:
        return await _snapshot(server, folder, target.signer)


async def test_a_foreign_seal_is_refused_by_the_server_and_nothing_changes(
    target: Target, make: Make, foreign: tuple[bytes, Manifest]
) -> None:
    """Keys that two operators generated have the same id: only the server can distinguish them."""
    await target.write("kept")
    of = foreign[1].cluster_id
    report = await make(*foreign).restore(expected_cluster_id=of, named_cluster_id=of)
    assert (report.outcome, report.failure, report.untouched) == ("Failed", "Snapshot", True)
    assert "different autoseal key" in report.message
    assert await target.note() == "kept"


async def test_a_foreign_seal_with_force_leaves_the_server_sealed_and_reports_it(
    make: Make, foreign: tuple[bytes, Manifest]
) -> None:
    """The last test of the module: the server is not usable after it."""
    report = await make(*foreign).restore(force=True)
    assert (report.outcome, report.sealed) == ("Succeeded", True)
