"""All store providers behave the same for a Job: minio, moto, azurite, and a folder."""

import asyncio
import dataclasses
import hashlib
import ipaddress
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.store.egress_policy import EgressPolicy
from baoctl.jobs.store.store import JobStore, open_store
from contracts.jobs.env import StoreEnv
from e2e.harness import stores as real
from tests.integration.bao_server import free_port

POLICY = EgressPolicy(permitted=(ipaddress.ip_network("127.0.0.0/8"),))
MIB = 1 << 20
pytestmark = [pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]


@dataclass(frozen=True)
class OpenStore:
    """A store under test, and its server; None for a folder."""

    store: JobStore
    server: real.Store | None


@pytest.fixture(scope="module", params=["s3", "gcs", "azure", "pvc"])
def kind(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[StoreEnv, real.Store | None]]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "pvc":
        yield StoreEnv("pvc", "snapshots", volume_path=str(folder)), None
        return
    start = {"s3": real.s3_store, "gcs": real.gcs_store, "azure": real.azure_store}[request.param]
    with ExitStack() as running:
        server = running.enter_context(start(real.ServerHost.loopback(), folder, port=free_port()))
        target = server.target()
        credentials = folder / "credentials"
        credentials.mkdir()
        for name, content in server.secret().items():
            (credentials / name).write_text(content)
        account = target.get("azure", {}).get("storageAccount", "")
        yield (
            StoreEnv(
                request.param, target["bucket"], target["endpoint"], azure_account=account,
                use_path_style=True, credentials_path=str(credentials), part_size=5 * MIB,
            ),
            server,
        )  # fmt: skip


@pytest_asyncio.fixture(loop_scope="module")
async def opened(kind: tuple[StoreEnv, real.Store | None]) -> AsyncIterator[OpenStore]:
    env, server = kind
    async with open_store(env, {}, POLICY) as store:
        yield OpenStore(store, server)


async def pieces(*sizes: int) -> AsyncIterator[bytes]:
    for number, size in enumerate(sizes):
        yield bytes([number % 251]) * size


@pytest.mark.parametrize("sizes", [(10,), (MIB,) * 17, (1, 5 * MIB, 0, 5 * MIB - 1)], ids=len)
async def test_a_stream_is_stored_and_read_back(
    opened: OpenStore, tmp_path: Path, sizes: tuple[int, ...]
) -> None:
    key = f"a/b/stream-{len(sizes)}.snap"
    expected = b"".join([piece async for piece in pieces(*sizes)])
    await opened.store.upload(key, pieces(*sizes))
    assert await opened.store.size(key) == len(expected)
    fetched = await opened.store.fetch(key, tmp_path / "copy", len(expected))
    assert fetched is not None
    assert fetched.digest == f"sha256:{hashlib.sha256(expected).hexdigest()}"
    assert (tmp_path / "copy").read_bytes() == expected
    await opened.store.delete(key)
    assert await opened.store.size(key) is None


async def test_a_failed_stream_leaves_no_object(opened: OpenStore) -> None:
    async def broken_source() -> AsyncIterator[bytes]:
        async for piece in pieces(*(MIB,) * 12):
            yield piece
        raise LookupError("the source broke")

    with pytest.raises(LookupError, match="the source broke"):
        await opened.store.upload("a/b/broken.snap", broken_source())
    await _nothing_of(opened, "a/b/broken.snap")


async def test_a_missing_bucket_is_reported(kind: tuple[StoreEnv, real.Store | None]) -> None:
    env, server = kind
    if server is None:
        pytest.skip("a folder is created")
    word = "container" if env.provider == "azure" else "bucket"
    async with open_store(dataclasses.replace(env, bucket="nowhere"), {}, POLICY) as store:
        with pytest.raises(JobFailure, match=f"the {word} does not exist"):
            await store.upload("a/b/lost.snap", pieces(10))


async def test_a_cancelled_job_leaves_no_object(opened: OpenStore) -> None:
    halfway = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        async for piece in pieces(*(MIB,) * 12):
            yield piece
        halfway.set()
        await asyncio.get_running_loop().create_future()

    uploading = asyncio.create_task(opened.store.upload("a/b/stopped.snap", endless()))
    await halfway.wait()
    uploading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await uploading
    await _nothing_of(opened, "a/b/stopped.snap")


async def _nothing_of(opened: OpenStore, key: str) -> None:
    assert await opened.store.size(key) is None
    assert key not in await opened.store.keys("a/b/")
    if opened.server is not None and opened.server.provider == "s3":
        assert opened.server.pending() == []


async def test_keys_are_those_below_a_prefix(opened: OpenStore) -> None:
    expected = [f"l/c/{number}.snap" for number in range(3)]
    for key in (*expected, "l/cd/other.snap", "l/c.snap"):
        await opened.store.write(key, b"x")
    assert sorted(await opened.store.keys("l/c/")) == expected
    assert await opened.store.keys("nobody/") == []


async def test_small_objects_are_bounded(opened: OpenStore) -> None:
    await opened.store.write("s/one.json", b"x" * 100)
    await opened.store.write("s/one.json", b"y" * 100)
    assert await opened.store.read("s/one.json", 100) == b"y" * 100
    assert await opened.store.read("s/absent.json", 100) is None
    with pytest.raises(JobFailure, match="the limit is 99"):
        await opened.store.read("s/one.json", 99)


async def test_a_file_is_bounded_too(opened: OpenStore, tmp_path: Path) -> None:
    await opened.store.upload("s/large.snap", pieces(MIB, MIB))
    with pytest.raises(JobFailure, match="more than 1048576 bytes"):
        await opened.store.fetch("s/large.snap", tmp_path / "copy", MIB)
    assert await opened.store.fetch("s/absent.snap", tmp_path / "none", MIB) is None


async def test_deleting_a_missing_object_succeeds(opened: OpenStore) -> None:
    await opened.store.delete("s/never-there.snap")
