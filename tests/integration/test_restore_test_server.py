"""The restore test Job with real servers: the source of the snapshot, and ephemeral ones.

The ephemeral server has the configuration of its pod; only folders and ports are replaced. The
store is a folder, as with provider pvc.
"""

import asyncio
import gzip
import io
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from baoctl.jobs.restore_test import restore_test
from baoctl.jobs.store.egress_policy import EgressPolicy
from baoctl.jobs.store.store import open_store
from contracts.api.cluster.job_roles import DEFAULTS
from contracts.api.cluster.self_init import SelfInitRequest
from contracts.api.job_result import RestoreTestReport
from contracts.hcl.render import ConfigInput, OidcBootstrap, render_config, render_self_init
from contracts.hcl.restore_test_server import ADDRESS, LOOPBACK, restore_test_config
from contracts.hcl.roles import backup_role
from contracts.jobs.env import RunEnv, ServerEnv, StoreEnv, TestEnv
from contracts.jobs.snapshot_manifest import Manifest
from contracts.naming import mount_paths
from contracts.naming.snapshot_keys import manifest_key
from contracts.snapshot_digest import MOUNTS_PATH, content_digest, mounts_digest
from e2e.rig.versions import OPENBAO
from managers.bao.client import Bao
from runtime.client.write_guard import allow_writes
from runtime.clock import SystemClock
from tests.gen.snapshots import digest_of, manifest_for
from tests.integration.account_tokens import AUDIENCE, ISSUER, Signer
from tests.integration.bao_server import free_port, serve

ROLE = DEFAULTS["backup"]
SUBJECT = "system:serviceaccount:ns:c-backup-serviceaccount"
CANARY = "secret/canary"
KEY = "ns/c/2026-01-01T03-00-00Z-0a1b2c3d.snap"
pytestmark = [pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]


@dataclass(frozen=True)
class ServerSnapshot:
    """A snapshot of a real server, its manifest, and the configuration and keys to unseal it."""

    content: bytes
    manifest: Manifest
    config: str
    keys: Path
    signer: Signer


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server_snapshot(
    bao: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ServerSnapshot]:
    """Run a server that initializes itself, write to it, and take a snapshot as a backup does."""
    folder = tmp_path_factory.mktemp("source")
    signer = Signer()
    config = _config(signer)
    with serve(bao, folder, render_config(config), render_self_init(config)) as server:
        await server.active()
        _, answer = await server.call(
            "POST", "auth/jwt-operator/login", {"role": ROLE, "jwt": signer.token(SUBJECT)}
        )
        token = answer["auth"]["client_token"]
        authority = (folder / "tls" / "ca.crt").read_text()
        port = int(server.url.rpartition(":")[2])
        async with Bao(authority, LOOPBACK, port, guard=allow_writes) as client:
            health = await client.health(LOOPBACK)
            mounts = mounts_digest(await client.read(LOOPBACK, token, MOUNTS_PATH))
            canary = content_digest(await client.read(LOOPBACK, token, CANARY))
            async with client.snapshot(LOOPBACK, token) as pieces:
                content = b"".join([piece async for piece in pieces])
    meta = _members(content)["meta.json"]
    document = json.loads(meta)
    manifest = manifest_for(
        KEY, content, cluster_id=health.cluster_id, version=health.version,
        index=document["Index"], term=document["Term"], seal="static:operator-generated-v1",
        mounts=mounts, canary=canary, canary_path=CANARY,
    )  # fmt: skip
    yield ServerSnapshot(content, manifest, render_config(config), folder / "unseal", signer)


def _config(signer: Signer) -> ConfigInput:
    roles = (backup_role(ROLE, (SUBJECT,), canary=CANARY),)
    mount = {"path": "sys/mounts/secret", "data": {"type": "kv"}}
    write = {"path": CANARY, "data": {"value": "bird"}}
    requests = tuple(
        SelfInitRequest.model_validate({"operation": "update", "name": name, **item})
        for name, item in (("mount", mount), ("canary", write))
    )
    oidc = OidcBootstrap(AUDIENCE, ISSUER, (signer.public,), roles)
    return ConfigInput("c", "ns", oidc=oidc, requests=requests)


def _members(content: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        files = {member.name: archive.extractfile(member) for member in archive}
        return {name: file.read() for name, file in files.items() if file is not None}


@contextmanager
def _temporary_server(
    bao: Path, folder: Path, server_snapshot: ServerSnapshot, *, keys: Path | None = None
) -> Iterator[str]:
    """Run the ephemeral server of a test; yields its address."""
    (folder / "data").mkdir()
    port = free_port()
    config = restore_test_config(server_snapshot.config)
    for old, new in {
        mount_paths.DATA: str(folder / "data"),
        mount_paths.UNSEAL: str(keys or server_snapshot.keys),
        ADDRESS: f"{LOOPBACK}:{port}",
        f"{LOOPBACK}:8201": f"{LOOPBACK}:{free_port()}",
    }.items():
        assert old in config
        config = config.replace(old, new)
    (folder / "config.hcl").write_text(config)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(bao), "server", f"-config={folder / 'config.hcl'}"],
            env={"PATH": os.environ["PATH"]}, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            yield f"{LOOPBACK}:{port}"
        finally:
            process.kill()
            process.wait()


async def _test(
    address: str,
    folder: Path,
    server_snapshot: ServerSnapshot,
    *,
    content: bytes | None = None,
    **other: Any,
) -> RestoreTestReport:
    """Run the Job; `other` has fields of the manifest; with key `manifest` there is none."""
    store = folder / "store" / "bucket"
    snapshot, beside = store / KEY, store / manifest_key(KEY)
    snapshot.parent.mkdir(parents=True)
    snapshot.write_bytes(server_snapshot.content if content is None else content)
    if "manifest" not in other:
        beside.write_bytes(replace(server_snapshot.manifest, **other).to_bytes())
    (folder / "scratch").mkdir()
    (folder / "jwt").write_text(server_snapshot.signer.token(SUBJECT))
    env = TestEnv(
        run=RunEnv("openbaobackups", "ns", "b", "uid", job_uid="job"),
        store=StoreEnv("pvc", "bucket", volume_path=str(folder / "store")),
        server=ServerEnv("ns", "c", (), role=ROLE, jwt_path=str(folder / "jwt")),
        key=KEY,
        address=address,
        expected_cluster_id="" if "cluster_id" in other else server_snapshot.manifest.cluster_id,
        scratch_path=str(folder / "scratch"),
    )
    async with open_store(env.store, {}, EgressPolicy()) as opened:
        return await restore_test(env, opened, SystemClock())


async def test_a_valid_snapshot_passes_all_checks(
    bao: Path, tmp_path: Path, server_snapshot: ServerSnapshot
) -> None:
    with _temporary_server(bao, tmp_path, server_snapshot) as address:
        report = await _test(address, tmp_path, server_snapshot)
    assert (report.outcome, report.reason, report.job_uid) == ("Succeeded", "Restored", "job")
    assert report.snapshot is not None
    assert report.snapshot.digest == server_snapshot.manifest.digest
    results = [line.partition(":")[0] for line in report.checks]
    assert results == [
        "manifest", "archive", "server", "seal", "unsealed", "raft index", "login", "mounts",
        "canary",
    ]  # fmt: skip
    assert report.checks[-1] == f"canary: {CANARY} is unchanged"
    assert report.checks[-2] == "mounts: sys/mounts is unchanged"


async def test_different_content_is_detected(
    bao: Path, tmp_path: Path, server_snapshot: ServerSnapshot
) -> None:
    async def reason(name: str, other: str) -> tuple[str, str]:
        folder = tmp_path / name
        folder.mkdir()
        with _temporary_server(bao, folder, server_snapshot) as address:
            different: dict[str, Any] = {name: other}
            report = await _test(address, folder, server_snapshot, **different)
        return report.outcome, report.reason

    # Each server takes six seconds to restart.
    assert [
        *await asyncio.gather(
            reason("canary", digest_of(b"another bird")),
            reason("mounts", digest_of(b"another engine")),
            reason("cluster_id", "11111111-2222-3333-4444-555555555555"),
        )
    ] == [("Failed", "CanaryDiffers"), ("Failed", "MountsDiffer"), ("Failed", "ClusterIDDiffers")]


async def test_a_snapshot_of_another_key_is_flagged(
    bao: Path, tmp_path: Path, server_snapshot: ServerSnapshot
) -> None:
    keys = tmp_path / "keys"
    shutil.copytree(server_snapshot.keys, keys)
    for file in keys.iterdir():
        file.write_bytes(os.urandom(32))
    with _temporary_server(bao, tmp_path, server_snapshot, keys=keys) as address:
        report = await _test(address, tmp_path, server_snapshot)
    assert (report.outcome, report.reason, report.failure) == (
        "Failed", "SealDiffers", "Verification",
    )  # fmt: skip
    assert "static:operator-generated-v1" in report.message


async def test_a_snapshot_of_an_older_version_is_flagged(
    bao: Path, tmp_path: Path, server_snapshot: ServerSnapshot
) -> None:
    with _temporary_server(bao, tmp_path, server_snapshot) as address:
        report = await _test(address, tmp_path, server_snapshot, version="2.3.2")
    assert (report.outcome, report.reason) == ("Failed", "VersionDiffers")
    assert report.message == f"OpenBao 2.3.2 took the snapshot, but the servers run {OPENBAO}"


def _flip(content: bytes) -> bytes:
    changed = bytearray(content)
    changed[len(changed) // 2] ^= 1
    return bytes(changed)


def _break_sums(content: bytes) -> bytes:
    """Return a valid archive with a correct digest, in which a byte of the state was changed."""
    members = _members(content)
    members["state.bin"] = _flip(members["state.bin"])
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return gzip.compress(plain.getvalue())


async def test_a_changed_byte_and_truncation_are_detected_before_the_restore(
    tmp_path: Path, server_snapshot: ServerSnapshot
) -> None:
    cut = server_snapshot.content[: len(server_snapshot.content) // 2]
    changed = _flip(server_snapshot.content)
    cases: tuple[tuple[str, bytes | None, dict[str, Any], str], ...] = (
        ("byte", changed, {}, "SnapshotCorrupt"),
        ("cut", cut, {}, "SnapshotIncomplete"),
        # The manifest has the digest of the corrupt content.
        ("byte-noted", changed, {"digest": digest_of(changed)}, "SnapshotCorrupt"),
        ("cut-noted", cut, {"digest": digest_of(cut), "size": len(cut)}, "SnapshotIncomplete"),
        ("empty", b"", {"digest": digest_of(b""), "size": 0}, "SnapshotIncomplete"),
        ("index", None, {"index": 1}, "SnapshotCorrupt"),
        ("gone", None, {"manifest": None}, "SnapshotMissing"),
    )
    for name, content, other, reason in cases:
        folder = tmp_path / name
        folder.mkdir()
        # Nothing listens there: a request to the server would fail with another reason.
        report = await _test(f"{LOOPBACK}:1", folder, server_snapshot, content=content, **other)
        assert (name, report.outcome, report.reason) == (name, "Failed", reason), report.message


async def test_a_corrupt_state_in_a_valid_archive_is_detected_by_the_server(
    bao: Path, tmp_path: Path, server_snapshot: ServerSnapshot
) -> None:
    content = _break_sums(server_snapshot.content)
    with _temporary_server(bao, tmp_path, server_snapshot) as address:
        report = await _test(
            address,
            tmp_path,
            server_snapshot,
            content=content,
            digest=digest_of(content),
            size=len(content),
        )
    assert (report.outcome, report.reason) == ("Failed", "SnapshotCorrupt")


async def test_a_login_that_the_restored_server_refuses_is_reported(
    bao: Path, tmp_path: Path, server_snapshot: ServerSnapshot
) -> None:
    stranger = replace(server_snapshot, signer=Signer())
    with _temporary_server(bao, tmp_path, stranger) as address:
        report = await _test(address, tmp_path, stranger)
    assert (report.reason, report.failure) == ("LoginRefused", "Authentication")
