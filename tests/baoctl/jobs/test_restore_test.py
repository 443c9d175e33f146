"""baoctl.jobs.restore_test: the checks that need no real server.

tests/integration/test_restore_test_server.py restores snapshots into a real server.
"""

from collections.abc import AsyncIterable
from pathlib import Path
from typing import Any, Self

import pytest

from baoctl.jobs.restore_test import START_SECONDS, restore_test
from baoctl.jobs.store.egress_policy import EgressPolicy
from baoctl.jobs.store.store import open_store
from contracts.api.job_result import RestoreTestReport
from contracts.jobs.env import RunEnv, ServerEnv, StoreEnv, TestEnv
from contracts.naming.snapshot_keys import manifest_key
from managers.bao.client import BaoError
from managers.bao.models import ServerHealth
from tests.baoctl.jobs.fake_raft import ImmediateClock
from tests.gen.snapshots import manifest_for, snapshot

KEY = "ns/c/2026-01-01T03-00-00Z-0a1b2c3d.snap"


class EmptyServer:
    """A server that has the data of the cluster `id` after a restore."""

    def __init__(self, *_: object, **__: object) -> None:
        self.initialized = False
        self.cluster_id = "its own"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def health(self, address: str) -> ServerHealth:
        return ServerHealth(
            initialized=self.initialized, sealed=not self.initialized, standby=False,
            version="2.4.0", cluster_id=self.cluster_id,
        )  # fmt: skip

    async def initialize(self, address: str) -> str:
        self.initialized = True
        return "root"

    async def restore(
        self, address: str, token: str, pieces: AsyncIterable[bytes], *, force: bool
    ) -> None:
        assert b"".join([piece async for piece in pieces]) == snapshot()
        self.cluster_id = "id"

    async def applied_index(self, address: str) -> int:
        return 7


class SilentServer(EmptyServer):
    async def health(self, address: str) -> ServerHealth:
        raise BaoError("no answer")


async def report_of(folder: Path, server: ServerEnv, **expected: Any) -> RestoreTestReport:
    """Test a snapshot of a store in a folder."""
    snapshot_file = folder / "bucket" / KEY
    snapshot_file.parent.mkdir(parents=True)
    snapshot_file.write_bytes(snapshot())
    manifest = manifest_for(KEY, snapshot(), index=7, term=2)
    (folder / "bucket" / manifest_key(KEY)).write_bytes(manifest.to_bytes())
    env = TestEnv(
        run=RunEnv("openbaobackups", "ns", "b", "uid"),
        store=StoreEnv("pvc", "bucket", volume_path=str(folder)),
        server=server,
        key=KEY,
        address="127.0.0.1:1",
        scratch_path=str(folder),
        **expected,
    )
    async with open_store(env.store, {}, EgressPolicy()) as store:
        return await restore_test(env, store, ImmediateClock())


# field of the OpenBaoBackup: another value than that of the manifest
DIFFERENCES: dict[str, object] = {
    "digest": "sha256:0", "size": 1, "index": 8, "cluster_id": "other", "version": "2.3.2",
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENCES)
async def test_a_manifest_that_differs_from_the_backup_is_reported(
    tmp_path: Path, name: str
) -> None:
    expected = {f"expected_{name}": DIFFERENCES[name]}
    report = await report_of(tmp_path, ServerEnv("ns", "c", ()), **expected)
    assert report.reason == "SnapshotCorrupt"
    assert f"its manifest has {name.replace('_', ' ')}" in report.message


async def test_a_server_that_does_not_answer_is_reported_after_its_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baoctl.jobs.restore_test.Bao", SilentServer)
    report = await report_of(tmp_path, ServerEnv("ns", "c", ()))
    assert (report.reason, report.seconds) == ("ServerUnavailable", START_SECONDS)


async def test_a_token_replaces_the_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baoctl.jobs.restore_test.Bao", EmptyServer)
    (tmp_path / "token").write_text("t")
    server = ServerEnv("ns", "c", (), auth="token", token_path=str(tmp_path / "token"))
    report = await report_of(tmp_path, server)
    assert (report.reason, report.message) == ("Restored", "9 checks passed")
    assert "login: not tested, because a token is used" in report.checks
