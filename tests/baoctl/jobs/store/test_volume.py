"""The files of a store on a volume: what is synced, and what a killed job leaves."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from baoctl.jobs.store.egress_policy import EgressPolicy
from baoctl.jobs.store.store import open_store
from baoctl.jobs.store.volume import paths_to_sync
from contracts.jobs.env import StoreEnv

PREFIX = "p/n/c/"
KEY = f"{PREFIX}2026-01-01T03-00-00Z-0a1b2c3d.snap"
KILLED = f"""
import os, signal, obstore
from obstore.store import LocalStore
def pieces():
    yield from [bytes(1 << 20)] * 8
    os.kill(os.getpid(), signal.SIGKILL)
store = LocalStore(prefix=os.sys.argv[1], mkdir=True)
obstore.put(store, "{KEY}", pieces(), use_multipart=True, chunk_size=5 << 20, max_concurrency=1)
"""


def test_the_directories_of_a_file_are_synced_up_to_the_volume() -> None:
    names = paths_to_sync(Path("/v/bucket/ns/c/one.snap"), Path("/v"))
    assert [str(name) for name in names] == [
        "/v/bucket/ns/c/one.snap", "/v/bucket/ns/c", "/v/bucket/ns", "/v/bucket", "/v",
    ]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a cluster in which a job was killed during its upload."""
    killed = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "snapshots"], check=False)
    assert killed.returncode == -signal.SIGKILL
    return tmp_path / "snapshots" / PREFIX


async def test_the_file_of_a_killed_upload_is_deleted_by_the_next_job(
    folder: Path, tmp_path: Path
) -> None:
    (left,) = os.listdir(folder)
    others = ("notes.txt#1", "2026-01-01T03-00-00Z-0a1b2c3d.snap#old", "other.snap#1")
    for name in others:
        (folder / name).touch()
    env = StoreEnv("pvc", "snapshots", volume_path=str(tmp_path))
    async with open_store(env, {}, EgressPolicy()) as store:
        assert await store.keys(PREFIX) == ["p/n/c/2026-01-01T03-00-00Z-0a1b2c3d.snap#old"]
        assert await store.delete_partial(PREFIX) == [left]
        assert await store.delete_partial("p/n/absent/") == []
    assert sorted(os.listdir(folder)) == sorted(others)
