"""The store of a job: put, get, list and delete objects, with bounded memory and plain errors.

Uses obstore, store.egress_proxy and store.settings. Called by the jobs, snapshot and retention.
The synchronous functions of obstore run in threads: its asynchronous functions leave a partial
upload when a task is cancelled, and sometimes abort the process when the interpreter exits.
"""

from __future__ import annotations

import asyncio
import hashlib
import queue
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

import obstore
from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, LocalStore, ObjectStore, S3Store

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.store.egress_policy import EgressPolicy
from baoctl.jobs.store.egress_proxy import EgressProxy, Rules
from baoctl.jobs.store.errors import is_missing_bucket, is_unreachable, store_failure
from baoctl.jobs.store.settings import StoreSettings, settings
from baoctl.jobs.store.volume import delete_partial_files, sync_file
from contracts.jobs.env import StoreEnv

Result = TypeVar("Result")
UPLOAD_MEMORY: Final = 96 << 20
"""Bytes that all parts of an upload may use; the memory limit of a pod is at least 512 MiB."""
PART_MIN: Final = 5 << 20
"""Minimum part size of S3; with its maximum of 10,000 parts an object has up to 48 GiB."""
CHUNKS_AHEAD: Final = 8
CLEAN_UP_SECONDS: Final = 15.0
"""Time for which a stopped job waits for the abort of its upload; the grace period is 30 s."""
DISCARD_SECONDS: Final = 10.0
"""Time for which a job waits for the deletion of a snapshot that failed: its report waits too."""
LISTED_MAX: Final = 250_000
"""Maximum number of listed keys; a snapshot every 15 minutes adds 70,000 keys in a year."""
_STREAM: Final = 1 << 20
_END: Final = b""
# obstore also raises built-in exceptions, such as NotImplementedError, which is a RuntimeError;
# _ChunkQueue raises a RuntimeError, too.
_ERRORS = (BaseError, OSError, ValueError, TypeError, RuntimeError)
CONSTRUCTORS: Mapping[str, Callable[..., ObjectStore]] = {
    "s3": S3Store,
    "gcs": GCSStore,
    "azure": AzureStore,
    "pvc": LocalStore,
}
_RETRIES: Mapping[str, Any] = {"max_retries": 5, "retry_timeout": timedelta(minutes=3)}
# The timeout includes the body: a part of 10 MiB takes minutes on a slow connection. The proxy
# closes idle connections.
_TIMES: Mapping[str, Any] = {
    "connect_timeout": timedelta(seconds=15),
    "timeout": timedelta(minutes=15),
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """The size in bytes and the digest (sha256:HEX) of an object that was read."""

    size: int
    digest: str


class ObjectTooLarge(JobFailure):
    """An object exceeds the limit of `JobStore.read`."""


class JobStore:
    """One open store.

    Every method raises JobFailure of class Storage, or Config if the EgressProxy refuses.
    """

    def __init__(self, env: StoreEnv, store: ObjectStore, proxy: EgressProxy | None) -> None:
        self._env = env
        self._store = store
        self._proxy = proxy

    async def upload(self, key: str, chunks: AsyncIterable[bytes]) -> None:
        """Store a stream of unknown length; the object exists only after its successful end.

        Raises the exceptions of the stream, and then stores nothing. A cancellation waits until the
        upload is aborted. If the response to the last request is lost, the object may exist; then
        it is deleted.
        """
        chunk_queue = _ChunkQueue(chunks)
        reader = asyncio.create_task(chunk_queue.read_stream())
        reader.add_done_callback(chunk_queue.on_end)
        uploader = asyncio.create_task(self._run(key, lambda: self._put(key, chunk_queue)))
        try:
            await asyncio.shield(uploader)
        except asyncio.CancelledError:
            chunk_queue.stop()
            # `gather` retrieves the error, which asyncio would log otherwise.
            upload_end = asyncio.gather(uploader, return_exceptions=True)
            await asyncio.wait({upload_end}, timeout=CLEAN_UP_SECONDS)
            if chunk_queue.all_sent:
                await self.discard(key)
            raise
        except JobFailure:
            # The library replaces an exception of the stream with its own.
            if chunk_queue.error is not None:
                raise chunk_queue.error from None
            if chunk_queue.all_sent:
                await self.discard(key)
            raise
        finally:
            chunk_queue.stop()
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    def _put(self, key: str, chunks: Iterator[bytes]) -> None:
        concurrency = max(1, self._env.concurrency)
        part = max(PART_MIN, min(self._env.part_size, UPLOAD_MEMORY // (concurrency + 1)))
        obstore.put(
            self._store, key, chunks, use_multipart=True, chunk_size=part,
            max_concurrency=concurrency,
        )  # fmt: skip
        self._sync(key)

    async def write(self, key: str, content: bytes) -> None:
        """Store a small object."""

        def put() -> None:
            obstore.put(self._store, key, content, use_multipart=False)
            self._sync(key)

        await self._run(key, put)

    async def size(self, key: str) -> int | None:
        """Return the size of an object in bytes; None if it does not exist."""
        meta = await self._optional(key, lambda: obstore.head(self._store, key))
        return None if meta is None else int(meta["size"])

    async def read(self, key: str, limit: int) -> bytes | None:
        """Read a small object; None if it does not exist. Raises Storage above the limit."""
        return await self._optional(key, lambda: self._read(key, limit))

    def _read(self, key: str, limit: int) -> bytes:
        result = obstore.get(self._store, key)
        if result.meta["size"] > limit:
            raise ObjectTooLarge(
                "Storage", f"{key} has {result.meta['size']} bytes; the limit is {limit}"
            )
        return bytes(result.bytes())

    async def fetch(
        self, key: str, path: Path, limit: int, on_chunk: Callable[[bytes], None] | None = None
    ) -> Fetched | None:
        """Read an object of at most `limit` bytes into a new file; None if it does not exist.

        `on_chunk` is called with each chunk, in the reading thread, and may raise JobFailure.
        """
        return await self._optional(key, lambda: self._fetch(key, path, limit, on_chunk))

    def _fetch(
        self, key: str, path: Path, limit: int, on_chunk: Callable[[bytes], None] | None
    ) -> Fetched:
        result = obstore.get(self._store, key)
        size, digest = 0, hashlib.sha256()
        with path.open("xb") as file:
            for chunk in result.stream(min_chunk_size=_STREAM):
                size += len(chunk)
                if size > limit:
                    raise JobFailure("Storage", f"{key} has more than {limit} bytes, the limit")
                content = bytes(chunk)
                digest.update(content)
                file.write(content)
                if on_chunk is not None:
                    on_chunk(content)
        return Fetched(size, f"sha256:{digest.hexdigest()}")

    async def keys(self, prefix: str, limit: int = LISTED_MAX) -> list[str]:
        """Return all keys below a prefix that ends with a slash, unsorted.

        Raises Storage for more than `limit` keys.
        """

        def collect() -> list[str]:
            pages = obstore.list(self._store, prefix.rstrip("/"), chunk_size=1000)
            keys: list[str] = []
            for page in pages:
                keys += [str(meta["path"]) for meta in page]
                if len(keys) > limit:
                    raise JobFailure(
                        "Storage",
                        f"there are more than {limit} objects below {prefix}: remove old ones "
                        "manually, or set another spec.backup.target.pathPrefix",
                    )
            return keys

        return await self._run(prefix, collect)

    async def delete(self, key: str) -> None:
        """Delete an object if it exists."""
        await self._optional(key, lambda: obstore.delete(self._store, key))

    async def discard(self, key: str) -> str:
        """Delete an object within DISCARD_SECONDS; return why it may remain, "" if it is deleted.

        Never raises JobFailure.
        """
        delete_task = asyncio.ensure_future(self.delete(key))
        done, _ = await asyncio.wait({delete_task}, timeout=DISCARD_SECONDS)
        if not done:
            delete_task.cancel()
            return f"the store did not delete it within {DISCARD_SECONDS:g} s"
        return str(delete_task.exception() or "")

    async def delete_partial(self, prefix: str) -> list[str]:
        """Delete the files of interrupted uploads below a prefix of a volume; return their names.

        An object store does not list partial uploads: a lifecycle rule of the bucket deletes them.
        """
        if self._env.provider != "pvc":
            return []
        root = Path(self._env.volume_path, self._env.bucket)
        return await asyncio.to_thread(delete_partial_files, root, prefix)

    def _sync(self, key: str) -> None:
        if self._env.provider == "pvc":
            volume = Path(self._env.volume_path)
            sync_file(volume / self._env.bucket / key, volume)

    async def _optional(self, key: str, call: Callable[[], Result]) -> Result | None:
        """Return the result of a call; None if the object does not exist."""

        def attempt() -> Result | None:
            try:
                return call()
            except FileNotFoundError as error:
                if is_missing_bucket(error):
                    raise
                return None

        return await self._run(key, attempt)

    async def _run(self, key: str, call: Callable[[], Result]) -> Result:
        try:
            return await asyncio.to_thread(call)
        except _ERRORS as error:
            raise self._failure(key, error) from None

    def _failure(self, key: str, error: BaseException) -> JobFailure:
        if self._proxy is not None and self._proxy.refusal:
            return JobFailure(
                "Config",
                f"spec.backup.target.endpoint={self._env.endpoint}: {self._proxy.refusal}; set the "
                "endpoint of an object store",
            )
        what = f"{key} in {self._bucket}"
        if self._proxy is not None and self._proxy.last_error and is_unreachable(error):
            message = f"the store cannot be reached: {self._proxy.last_error}"
            return JobFailure("Storage", f"{what}: {message}")
        return store_failure(what, error)

    @property
    def _bucket(self) -> str:
        if self._env.provider == "azure":
            return f"container {self._env.azure_container or self._env.bucket}"
        kind = "folder" if self._env.provider == "pvc" else "bucket"
        return f"{kind} {self._env.bucket}"


@asynccontextmanager
async def open_store(
    env: StoreEnv, environ: Mapping[str, str], policy: EgressPolicy
) -> AsyncIterator[JobStore]:
    """Open the store of a job. Raises JobFailure(Config) for invalid settings."""
    store_settings = settings(env, read_secret(env.credentials_path), environ)
    if env.provider == "pvc":
        yield JobStore(env, _construct(env, store_settings, {}), None)
        return
    with EgressProxy(Rules(policy, store_settings.endpoints, store_settings.identity)) as proxy:
        yield JobStore(
            env, _construct(env, store_settings, _client_options(env, store_settings, proxy)), proxy
        )


def read_secret(path: str) -> dict[str, str]:
    """Read a mounted Secret; empty without a path. Raises JobFailure(Config)."""
    if not path:
        return {}
    try:
        # Names that begin with two dots belong to the kubelet (the atomic writer of volumes).
        files = [file for file in Path(path).iterdir() if not file.name.startswith("..")]
        return {file.name: file.read_text(encoding="utf-8").strip() for file in files}
    except (OSError, UnicodeDecodeError) as error:
        raise JobFailure(
            "Config", f"the mounted Secret at {path} cannot be read: {type(error).__name__}"
        ) from None


def _client_options(
    env: StoreEnv, store_settings: StoreSettings, proxy: EgressProxy
) -> dict[str, Any]:
    options: dict[str, Any] = {**_TIMES, "proxy_url": proxy.url, "allow_http": store_settings.http}
    authority = read_secret(env.credentials_path).get("caCert")
    if authority:
        options["root_certificate"] = authority
    if env.insecure_skip_verify:
        options["allow_invalid_certificates"] = True
    return options


def _construct(
    env: StoreEnv, store_settings: StoreSettings, client: Mapping[str, Any]
) -> ObjectStore:
    options = dict(store_settings.options)
    if client:
        options |= {"client_options": dict(client), "retry_config": dict(_RETRIES)}
    try:
        return CONSTRUCTORS[env.provider](**options)
    except _ERRORS as error:
        # The text of the error may contain a credential.
        raise JobFailure(
            "Config",
            f"spec.backup.target: the settings or credentials of the {env.provider} store are "
            f"invalid ({type(error).__name__}); check the Secret, its keys and caCert",
        ) from None


class _ChunkQueue:
    """An iterator for the uploading thread; the event loop fills it with the chunks of a stream."""

    def __init__(self, chunks: AsyncIterable[bytes]) -> None:
        self._chunks = chunks
        self._queue: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._slots = asyncio.Semaphore(CHUNKS_AHEAD)
        self._loop = asyncio.get_running_loop()
        self._stopped = False
        self.error: BaseException | None = None
        """The exception of the stream, if any."""
        self.all_sent = False
        """The thread has read the whole stream, and may complete the upload."""

    async def read_stream(self) -> None:
        """Read the stream until it ends or raises."""
        async for chunk in self._chunks:
            if chunk:
                await self._slots.acquire()
                self._queue.put(chunk)

    def on_end(self, reader: asyncio.Task[None]) -> None:
        """Notify the thread that the stream has ended or failed."""
        if not reader.cancelled():
            self.error = reader.exception()
        self._stopped = self._stopped or self.error is not None
        self._queue.put(_END)

    def stop(self) -> None:
        """Make the uploading thread fail at its next chunk, so that it aborts the upload."""
        self._stopped = True
        self._queue.put(_END)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        chunk = self._queue.get()
        if self._stopped:
            raise RuntimeError("the stream failed or was stopped")
        if chunk == _END:
            self.all_sent = True
            raise StopIteration
        self._loop.call_soon_threadsafe(self._slots.release)
        return chunk
