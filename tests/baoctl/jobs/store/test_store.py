"""JobStore: what remains in a store after an upload whose end is uncertain, and its limits.

A fake S3 server loses the last response of an upload, which a real one cannot be made to do. Real
stores are tested in tests/integration/test_stores.py.
"""

import asyncio
import ipaddress
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer
from typing import get_args

import pytest
from obstore.store import MemoryStore

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.store.egress_policy import EgressPolicy
from baoctl.jobs.store.settings import PROVIDERS
from baoctl.jobs.store.store import CONSTRUCTORS, JobStore, open_store
from contracts.api.cluster.snapshot_store import Provider
from contracts.jobs.env import StoreEnv

POLICY = EgressPolicy(permitted=(ipaddress.ip_network("127.0.0.0/8"),))
KEY = "ns/c/2026-01-01T03-00-00Z-0a1b2c3d.snap"
_BEGUN = b"<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>"
_DELETED = b"<DeleteResult><Deleted><Key>any</Key></Deleted></DeleteResult>"
_NO_UPLOAD = b"<Error><Code>NoSuchUpload</Code></Error>"


class LosesTheLastAnswer(ThreadingTCPServer):
    """An S3 server that completes an upload and, when it may answer, responds with an error."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.objects: set[str] = set()
        self.completed = threading.Event()
        self.may_answer = threading.Event()


class _Answers(BaseHTTPRequestHandler):
    server: LosesTheLastAnswer

    def do_POST(self) -> None:
        body = self._body()
        path, _, query = self.path.partition("?")
        if query == "uploads=":
            self._answer(200, _BEGUN)
            return
        if query == "delete":
            self.server.objects -= {key for key in self.server.objects if key[3:] in body}
            self._answer(200, _DELETED)
            return
        self.server.objects.add(path)
        self.server.completed.set()
        self.server.may_answer.wait()
        self._answer(404, _NO_UPLOAD)

    def do_PUT(self) -> None:
        self._body()
        self._answer(200)

    def do_DELETE(self) -> None:
        """Abort an upload: it does not exist any more."""
        self._answer(404, _NO_UPLOAD)

    def log_message(self, format: str, *args: object) -> None:
        """Write no log."""

    def _body(self) -> str:
        return self.rfile.read(int(self.headers.get("content-length") or 0)).decode("latin-1")

    def _answer(self, code: int, content: bytes = b"") -> None:
        self.send_response(code)
        self.send_header("etag", '"1"')
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def server() -> Iterator[LosesTheLastAnswer]:
    with LosesTheLastAnswer() as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield server
        finally:
            server.may_answer.set()
            server.shutdown()
            serving.join()


def env_of(server: LosesTheLastAnswer, folder: Path) -> StoreEnv:
    for name in ("accessKeyId", "secretAccessKey"):
        (folder / name).write_text("any")
    endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    return StoreEnv("s3", "b", endpoint, use_path_style=True, credentials_path=str(folder))


async def pieces() -> AsyncIterator[bytes]:
    yield b"a snapshot"


async def test_an_upload_whose_last_response_is_lost_leaves_no_object(
    server: LosesTheLastAnswer, tmp_path: Path
) -> None:
    server.may_answer.set()
    async with open_store(env_of(server, tmp_path), {}, POLICY) as store:
        with pytest.raises(JobFailure, match="NoSuchUpload"):
            await store.upload(KEY, pieces())
    assert server.completed.is_set()
    assert server.objects == set()


async def test_a_job_stopped_during_the_last_request_leaves_no_object(
    server: LosesTheLastAnswer, tmp_path: Path
) -> None:
    async with open_store(env_of(server, tmp_path), {}, POLICY) as store:
        uploading = asyncio.create_task(store.upload(KEY, pieces()))
        await asyncio.to_thread(server.completed.wait)
        assert server.objects
        uploading.cancel()
        server.may_answer.set()
        with pytest.raises(asyncio.CancelledError):
            await uploading
    assert server.objects == set()


async def test_a_listing_is_bounded() -> None:
    store = JobStore(StoreEnv("s3", "b"), MemoryStore(), None)
    for number in range(3):
        await store.write(f"l/c/{number}", b"x")
    assert len(await store.keys("l/c/", 3)) == 3
    with pytest.raises(JobFailure, match="more than 2 objects below l/c/: remove old ones"):
        await store.keys("l/c/", 2)


def test_every_provider_of_the_api_has_its_settings_and_its_client() -> None:
    assert PROVIDERS.keys() == CONSTRUCTORS.keys() == set(get_args(Provider))
