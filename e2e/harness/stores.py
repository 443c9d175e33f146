"""Real object stores on loopback or in the network of a rig: minio, moto and azurite.

S3 has real credentials and serves TLS with its own CA; GCS and Azure are emulated (docs/limits.md
lists the limits of the emulators). Each runs until the end of its context.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from e2e.harness import certificates
from e2e.harness.certificates import SignedCertificate
from e2e.harness.object_access import AzureObjects, Endpoint, Objects, S3Objects, StoreError
from e2e.harness.waiting import until
from e2e.rig import Rig, builds, stores
from e2e.rig.paths import Cache, cache_root
from e2e.rig.progress import Progress, silent
from e2e.rig.versions import MINIO_SERVER

BUCKET = "snapshots"
CREDENTIALS = "store-login"
"""Name of the Secret that `target` refers to."""
S3_PORT, GCS_PORT, AZURE_PORT = 9000, 9010, 9020
_AZURE_ACCOUNT = "devstoreaccount1"
# The well-known key of Azure emulators.
_AZURE_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
_UP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ServerHost:
    """The listen address of servers, and how to start a process there."""

    address: str
    here: str
    """The address for clients of the store."""
    inside: Callable[..., list[str]]
    cache: Cache
    progress: Progress

    @classmethod
    def of_rig(cls, rig: Rig) -> "ServerHost":
        """On the node of a rig: reachable from pods and from this machine."""
        slot = rig.layout.slot
        return cls(str(slot.node), str(slot.host), rig.inside, rig.cache, rig.progress)

    @classmethod
    def loopback(cls, progress: Progress = silent) -> "ServerHost":
        """On loopback, without a rig."""
        here = "127.0.0.1"
        return cls(here, here, lambda *argv: list(argv), Cache(cache_root()), progress)


@dataclass(frozen=True, slots=True)
class Store:
    """A running store."""

    provider: str
    endpoint: str
    """URL, as in `target`."""
    objects: Objects
    login: Mapping[str, str] = field(repr=False)
    """Entries of the Secret with its credentials, as plain text."""
    authority: SignedCertificate | None = None
    """The CA of its certificate; None for plain http."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Fields of a target in addition to endpoint and bucket."""
    process: "subprocess.Popen[bytes] | None" = None

    def target(self, bucket: str = BUCKET, prefix: str = "") -> dict[str, Any]:
        """Return spec.backup.target for a bucket of it; creates the bucket if it is missing."""
        self.objects.make_bucket(bucket)
        target: dict[str, Any] = {
            "provider": self.provider,
            "endpoint": self.endpoint,
            "bucket": bucket,
            "credentialsSecretRef": {"name": CREDENTIALS},
            **self.options,
        }
        return {**target, "pathPrefix": prefix} if prefix else target

    def secret(self, **changes: str | None) -> dict[str, str]:
        """Return the entries of the credentials Secret (stringData); None omits one."""
        entries = {**self.login, **changes}
        return {name: text for name, text in entries.items() if text is not None}

    def keys(self, prefix: str = "", bucket: str = BUCKET) -> list[str]:
        """Return the keys that begin with the prefix, sorted."""
        return self.objects.keys(bucket, prefix)

    def pending(self, bucket: str = BUCKET) -> list[str]:
        """Return the keys of incomplete uploads."""
        return self.objects.pending(bucket)

    def read(self, key: str, bucket: str = BUCKET) -> bytes:
        """Read a whole object."""
        return self.objects.read(bucket, key)

    def write(self, key: str, content: bytes, bucket: str = BUCKET) -> None:
        """Write an object, replacing an existing one."""
        self.objects.write(bucket, key, content)

    def delete(self, key: str, bucket: str = BUCKET) -> None:
        """Delete an object."""
        self.objects.delete(bucket, key)


@contextmanager
def s3_store(server_host: ServerHost, folder: Path, *, port: int = S3_PORT) -> Iterator[Store]:
    """Run minio with TLS and its own credentials until the end of the context."""
    binary = builds.build(server_host.cache, (MINIO_SERVER,), server_host.progress)[0]
    authority = certificates.authority("object store")
    _serving_files(folder / "certs", authority, server_host.address, ("public.crt", "private.key"))
    user, password = "store-user", os.urandom(18).hex()
    argv = (
        str(binary), "server", "--quiet", "--address", f"{server_host.address}:{port}",
        "--certs-dir", str(folder / "certs"), str(folder / "data"),
    )  # fmt: skip
    environment = {
        "MINIO_ROOT_USER": user,
        "MINIO_ROOT_PASSWORD": password,
        "MINIO_BROWSER": "off",
        "MINIO_UPDATE": "off",
        "HOME": str(folder),
    }
    endpoint = f"https://{server_host.address}:{port}"
    objects = S3Objects(Endpoint(endpoint, authority.pem), user, password)
    login = {
        "accessKeyId": user,
        "secretAccessKey": password,
        "caCert": authority.pem.decode(),
    }
    options = {"usePathStyle": True, "region": "us-east-1"}
    with run_server(server_host, argv, folder / "minio.log", environment) as process:
        store = Store("s3", endpoint, objects, login, authority, options, process)
        _await_up(store, folder / "minio.log")
        yield store


@contextmanager
def gcs_store(server_host: ServerHost, folder: Path, *, port: int = GCS_PORT) -> Iterator[Store]:
    """Run moto with plain http until the end of the context; it allows all requests."""
    programs = stores.install(server_host.cache, server_host.progress)
    argv = (*programs.moto, "--host", server_host.address, "--port", str(port))
    endpoint = f"http://{server_host.address}:{port}"
    objects = S3Objects(Endpoint(endpoint), "anybody", "anything")
    login = {"credentials.json": _service_account(endpoint)}
    with run_server(server_host, argv, folder / "moto.log", {}) as process:
        store = Store("gcs", endpoint, objects, login, process=process)
        _await_up(store, folder / "moto.log")
        yield store


@contextmanager
def azure_store(
    server_host: ServerHost, folder: Path, *, port: int = AZURE_PORT
) -> Iterator[Store]:
    """Run azurite with plain http and its one account until the end of the context."""
    programs = stores.install(server_host.cache, server_host.progress)
    argv = (
        *programs.azurite, "--blobHost", server_host.address, "--blobPort", str(port),
        "--location", str(folder / "blobs"), "--disableTelemetry", "--silent",
    )  # fmt: skip
    endpoint = f"http://{server_host.address}:{port}"
    objects = AzureObjects(Endpoint(endpoint), _AZURE_ACCOUNT, _AZURE_KEY)
    options = {"azure": {"storageAccount": _AZURE_ACCOUNT}}
    login = {"accountKey": _AZURE_KEY}
    with run_server(server_host, argv, folder / "azurite.log", {}) as process:
        store = Store("azure", endpoint, objects, login, options=options, process=process)
        _await_up(store, folder / "azurite.log")
        yield store


def azure_connection_string(store: Store) -> str:
    """Return a connection string for the same account."""
    return (
        f"DefaultEndpointsProtocol=http;AccountName={_AZURE_ACCOUNT};AccountKey={_AZURE_KEY};"
        f"BlobEndpoint={store.endpoint}/{_AZURE_ACCOUNT};"
    )


def _service_account(endpoint: str) -> str:
    """Return the key file of a service account that signs its own tokens."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    key_file = {
        "type": "service_account",
        "gcs_base_url": endpoint,
        "client_email": "backup@rig.iam.gserviceaccount.com",
        "private_key": pem.decode(),
        "private_key_id": "1",
    }
    return orjson.dumps(key_file).decode()


def _serving_files(
    folder: Path, authority: SignedCertificate, address: str, names: tuple[str, str]
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    served = certificates.leaf(authority, ("store",), addresses=(address,))
    for name, content in zip(names, (served.pem, served.key_pem), strict=True):
        (folder / name).write_bytes(content)


@contextmanager
def run_server(
    server_host: ServerHost, argv: tuple[str, ...], log: Path, environment: Mapping[str, str]
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a server, in the folder of its log, until the end of the context."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            server_host.inside("setpriv", "--pdeathsig", "KILL", "--", *argv),
            cwd=log.parent,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        # With its child processes; PyKMIP has some.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _await_up(store: Store, log: Path) -> None:
    def ready() -> bool:
        if store.process is not None and store.process.poll() is not None:
            raise AssertionError(
                f"the store has exited:\n{log.read_text(errors='replace')[-2000:]}"
            )
        store.objects.make_bucket(BUCKET)
        return True

    until(f"{store.provider} answers", ready, _UP_SECONDS, tolerate=(OSError, StoreError))
