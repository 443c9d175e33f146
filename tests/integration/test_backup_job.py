"""`baoctl job backup` with a real OpenBao server and an S3 store (minio, with TLS)."""

import hashlib
import os
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from baoctl.jobs.backup import back_up
from baoctl.jobs.failures import JobFailure
from baoctl.jobs.leader_client import open_session
from baoctl.jobs.retention import retained_message
from baoctl.jobs.snapshot.download import download_snapshot, manifest_of
from baoctl.jobs.snapshot.upload import take
from baoctl.jobs.store.store import open_store
from contracts.hcl.render import ConfigInput, render_config
from contracts.jobs.snapshot_manifest import read_manifest
from contracts.naming.snapshot_keys import BackupKey, manifest_key
from e2e.harness.stores import ServerHost, Store, s3_store
from e2e.rig.versions import OPENBAO
from runtime.clock import SystemClock
from tests.gen.snapshots import snapshot
from tests.integration.backup_place import (
    CLUSTER_UID,
    KEY,
    Place,
    Source,
    place,
    retention,
    store_snapshot,
)
from tests.integration.backup_place import source as running_source
from tests.integration.bao_server import free_port, serve
from tests.integration.played_server import played_server

pytestmark = [pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def source(bao: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Source]:
    with running_source(bao, tmp_path_factory.mktemp("source")) as started:
        await started.server.active()
        yield started


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with s3_store(
        ServerHost.loopback(), tmp_path_factory.mktemp("store"), port=free_port()
    ) as started:
        yield started


@pytest.fixture
def job(source: Source, store: Store, tmp_path: Path) -> Iterator[Place]:
    yield place(tmp_path, source, store)
    for key in store.keys(""):
        store.delete(key)
    assert store.pending() == []


async def failure(job: Place) -> JobFailure:
    with pytest.raises(JobFailure) as caught:
        await back_up(job.env, job.here)
    return caught.value


async def test_a_snapshot_its_manifest_and_the_report_agree(job: Place, store: Store) -> None:
    report = await back_up(job.env, job.here)
    content = store.read(KEY)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    manifest = read_manifest(store.read(manifest_key(KEY)))
    assert store.keys("") == [KEY, manifest_key(KEY)]
    assert (manifest.size, manifest.digest) == (len(content), digest)
    assert (manifest.cluster_uid, manifest.version) == (CLUSTER_UID, OPENBAO)
    assert manifest.index > 0
    assert manifest.cluster_id
    assert manifest.mounts.startswith("sha256:")
    assert manifest.canary.startswith("sha256:")
    snapshot = report.snapshot
    assert snapshot is not None
    assert (snapshot.key, snapshot.size, snapshot.digest) == (KEY, len(content), digest)
    assert (snapshot.index, snapshot.seal) == (manifest.index, "static:key-1")
    assert report.outcome == "Succeeded"
    assert (report.deleted, report.retention_message) == (0, "")


async def test_a_stored_snapshot_is_read_back_completely(job: Place, tmp_path: Path) -> None:
    report = await back_up(job.env, job.here)
    async with open_store(job.env.store, {}, job.here.policy) as opened:
        staged = await download_snapshot(opened, KEY, tmp_path / "staged")
        manifest = await manifest_of(opened, KEY)
    assert report.snapshot is not None
    assert manifest is not None
    assert (staged.size, staged.digest) == (report.snapshot.size, report.snapshot.digest)
    assert staged.meta.index == manifest.index


async def test_a_damaged_object_is_no_snapshot(job: Place, store: Store, tmp_path: Path) -> None:
    await back_up(job.env, job.here)
    whole = store.read(KEY)
    damaged = bytearray(whole)
    damaged[len(damaged) // 2] ^= 1
    async with open_store(job.env.store, {}, job.here.policy) as opened:
        for number, content in enumerate((bytes(damaged), whole[: len(whole) // 2], b"")):
            store.write(KEY, content)
            with pytest.raises(JobFailure) as caught:
                await download_snapshot(opened, KEY, tmp_path / str(number))
            assert caught.value.failure == "Verification"


async def test_a_wrong_secret_key_is_reported_without_its_value(job: Place, store: Store) -> None:
    job_failure = await failure(job.with_login(secretAccessKey="not-the-secret-key"))
    assert job_failure.failure == "Storage"
    assert "the secret key is wrong" in str(job_failure)
    assert "not-the-secret-key" not in str(job_failure)
    assert store.keys("") == []


async def test_an_unknown_access_key_is_reported(job: Place) -> None:
    job_failure = await failure(job.with_login(accessKeyId="nobody"))
    assert job_failure.failure == "Storage"
    assert "does not know the access key" in str(job_failure)


async def test_a_bucket_is_never_created(job: Place, store: Store) -> None:
    job_failure = await failure(job.with_store(bucket="absent"))
    assert job_failure.failure == "Storage"
    assert "in bucket absent: the bucket does not exist" in str(job_failure)


async def test_a_store_with_a_certificate_of_another_ca_is_refused(
    job: Place, source: Source
) -> None:
    job_failure = await failure(job.with_login(caCert=source.authority.read_text()))
    assert job_failure.failure == "Storage"
    assert "set caCert" in str(job_failure)


async def test_an_unreachable_store_is_reported(job: Place) -> None:
    job_failure = await failure(job.with_store(endpoint=f"https://127.0.0.1:{free_port()}"))
    assert job_failure.failure == "Storage"
    assert "cannot be reached" in str(job_failure)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"])
async def test_a_store_address_in_the_pod_itself_is_refused(
    job: Place, store: Store, host: str
) -> None:
    port = store.endpoint.rpartition(":")[2]
    strict = replace(job.here, policy=replace(job.here.policy, permitted=()))
    job_failure = await failure(
        replace(job.with_store(endpoint=f"https://{host}:{port}"), here=strict)
    )
    assert job_failure.failure == "Config"
    assert "the pod itself" in str(job_failure)
    assert store.keys("") == []


async def test_a_refused_login_is_reported(job: Place) -> None:
    (job.folder / "jwt").write_text("not.a.token")
    job_failure = await failure(job)
    assert (job_failure.failure, job_failure.exit_code) == ("Authentication", 2)
    assert "not.a.token" not in str(job_failure)


async def test_a_token_without_snapshot_permission_is_reported(job: Place) -> None:
    (job.folder / "token").write_text("s.nobody")
    job_failure = await failure(job.with_server(auth="token", token_path=str(job.folder / "token")))
    assert job_failure.failure == "Authentication"
    assert "s.nobody" not in str(job_failure)


async def test_retention_deletes_only_outdated_snapshots_of_the_cluster(
    job: Place, store: Store
) -> None:
    began = datetime(2025, 1, 1, tzinfo=UTC)
    older = [
        BackupKey("prod", "ns", "c", began + timedelta(days=day), f"0000000{day}")
        for day in range(4)
    ]
    ours = [store_snapshot(store, key) for key in older]
    foreign = store_snapshot(store, BackupKey("prod", "ns", "c", began, "ffffffff"), "another-uid")
    upgrade = store_snapshot(store, BackupKey("prod", "ns", "c", began, "eeeeeeee", "pre-upgrade"))
    neighbor = store_snapshot(store, BackupKey("prod", "ns", "cd", began, "dddddddd"))
    bare = BackupKey("prod", "ns", "c", began, "cccccccc").text
    store.write(bare, b"a snapshot that was never finished")
    rules = retention(2, protected=(ours[1],))
    report = await back_up(replace(job.env, retention=rules), job.here)
    left = {key for key in store.keys("") if key.endswith(".snap")}
    assert left == {KEY, ours[1], ours[3], foreign, upgrade, neighbor, bare}
    assert (report.deleted, report.retention_message) == (2, retained_message(1))
    assert not [key for key in store.keys("") if key.removesuffix(".json") in (ours[0], ours[2])]


async def test_a_dry_run_reports_and_deletes_nothing(job: Place, store: Store) -> None:
    old = store_snapshot(
        store, BackupKey("prod", "ns", "c", datetime(2025, 1, 1, tzinfo=UTC), "00000001")
    )
    rules = retention(1, dry_run=True)
    report = await back_up(replace(job.env, retention=rules), job.here)
    assert old in store.keys("")
    assert report.deleted == 0
    assert report.retention_message == f"dry run: would remove 1: {old}"


class NoSleepClock(SystemClock):
    """Does not sleep."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(0)


async def test_servers_that_do_not_lead_are_named(
    job: Place, bao: Path, store: Store, tmp_path: Path
) -> None:
    sleepy = tmp_path / "sleepy"
    sleepy.mkdir()
    with serve(bao, sleepy, render_config(ConfigInput("c", "ns")), "") as server:
        await server.answers()
        port = int(server.url.rpartition(":")[2])
        here = replace(
            job.here, clock=NoSleepClock(), addresses=replace(job.here.addresses, port=port)
        )
        away = job.with_server(pods=("c-0", "c-1"), ca_path=str(sleepy / "tls" / "ca.crt"))
        job_failure = await failure(replace(away, here=here))
    assert (job_failure.failure, job_failure.exit_code) == ("LeaderDiscovery", 3)
    assert "c-0: not initialized; c-1: not initialized" in str(job_failure)
    assert store.keys("") == []


async def test_unreachable_servers_are_named(job: Place) -> None:
    here = replace(
        job.here, clock=NoSleepClock(), addresses=replace(job.here.addresses, port=free_port())
    )
    job_failure = await failure(replace(job, here=here))
    assert job_failure.failure == "LeaderDiscovery"
    assert "c-0: no answer" in str(job_failure)


def _in_pieces(content: bytes) -> Callable[[], AsyncIterator[bytes]]:
    async def body() -> AsyncIterator[bytes]:
        for start in range(0, len(content), 1 << 16):
            yield content[start : start + (1 << 16)]

    return body


WHOLE = snapshot(os.urandom(12 << 20))
BAD = {
    # The body ends regularly: only the archive shows that it is incomplete.
    "truncated with a regular end": (WHOLE[: len(WHOLE) // 2], False, "it is cut off"),
    "truncated with an aborted connection": (
        WHOLE[: len(WHOLE) // 2],
        True,
        "the stream of c-0 failed",
    ),
    "no snapshot": (b"<html>an error page</html>", False, "it is not a gzip stream"),
    "nothing": (b"", False, "it is cut off"),
}


@pytest.mark.parametrize("case", BAD)
async def test_less_than_a_whole_snapshot_is_never_stored(
    job: Place, store: Store, tmp_path: Path, case: str
) -> None:
    content, drop, words = BAD[case]
    (tmp_path / "token").write_text("any")
    async with played_server(tmp_path, _in_pieces(content), drop=drop) as port:
        job_failure = await failure(_play(job, tmp_path, port))
    assert (job_failure.failure, job_failure.exit_code) == ("Snapshot", 4)
    assert words in str(job_failure)
    assert store.keys("") == []


async def test_a_snapshot_that_is_too_large_is_never_stored(
    job: Place, store: Store, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("any")
    async with played_server(tmp_path, _in_pieces(WHOLE)) as port:
        played = _play(job, tmp_path, port)
        async with (
            open_store(played.env.store, {}, played.here.policy) as opened,
            open_session(played.env.server, played.here.clock, played.here.addresses) as at,
        ):
            with pytest.raises(JobFailure, match="the limit of 8388608 bytes"):
                await take(opened, at, KEY, limit=8 << 20)
    assert store.keys("") == []


async def test_the_manifest_omits_what_the_role_may_not_read(
    job: Place, store: Store, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("any")
    async with played_server(tmp_path, _in_pieces(WHOLE)) as port:
        played = _play(job, tmp_path, port)
        report = await back_up(played.env, played.here)
    manifest = read_manifest(store.read(manifest_key(KEY)))
    assert report.outcome == "Succeeded"
    assert (manifest.mounts, manifest.canary, manifest.canary_path) == ("", "", "")
    assert manifest.size == len(WHOLE)


def _play(job: Place, folder: Path, port: int) -> Place:
    at = job.with_server(
        auth="token", token_path=str(folder / "token"), ca_path=str(folder / "ca.crt")
    )
    return replace(at, here=replace(at.here, addresses=replace(at.here.addresses, port=port)))
