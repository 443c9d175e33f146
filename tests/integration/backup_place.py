"""The environment of a backup Job on this machine: servers, a store, files and variables.

Everything is real: an OpenBao server that initialized itself with the role of backups, and minio.
Only the names of pods are resolved here, because there is no DNS of a Kubernetes cluster.
"""

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from baoctl.jobs.context import JobContext
from baoctl.jobs.leader_client import ServerAddresses
from baoctl.jobs.store.egress_policy import EgressPolicy
from contracts.api.cluster.job_roles import DEFAULTS
from contracts.hcl.render import ConfigInput, OidcBootstrap, render_config, render_self_init
from contracts.hcl.roles import backup_role
from contracts.jobs.env import BackupEnv, RetentionEnv, RunEnv, ServerEnv, StoreEnv
from contracts.naming.snapshot_keys import BackupKey, manifest_key
from e2e.harness.stores import BUCKET, Store
from runtime.clock import SystemClock
from tests.gen.snapshots import manifest_for
from tests.integration.account_tokens import AUDIENCE, ISSUER, Signer
from tests.integration.bao_server import BaoServer, serve

ROLE = DEFAULTS["backup"]
SUBJECT = "system:serviceaccount:ns:c-backup-serviceaccount"
LOOPBACK = ipaddress.ip_network("127.0.0.0/8")
KEY = "prod/ns/c/2026-01-01T03-00-00Z-0a1b2c3d.snap"
CLUSTER_UID = "cluster-uid"
CANARY = "sys/policies/acl/openbao-operator-backup"


@dataclass(frozen=True)
class Source:
    """A server whose snapshots are taken."""

    server: BaoServer
    signer: Signer
    authority: Path


@contextmanager
def source(bao: Path, folder: Path) -> Iterator[Source]:
    """Run a server that initializes itself with the role of backups."""
    signer = Signer()
    oidc = OidcBootstrap(AUDIENCE, ISSUER, (signer.public,), (backup_role(ROLE, (SUBJECT,)),))
    config = ConfigInput("c", "ns", oidc=oidc)
    with serve(bao, folder, render_config(config), render_self_init(config)) as server:
        yield Source(server, signer, folder / "tls" / "ca.crt")


async def _loopback(host: str) -> str:
    return "127.0.0.1"


@dataclass(frozen=True)
class Place:
    """One job: change `env` with `with_store`, `with_server` and `replace`."""

    folder: Path
    env: BackupEnv
    here: JobContext = field(repr=False)

    def with_store(self, **changes: Any) -> "Place":
        """Return the job with changed fields of the store."""
        return replace(self, env=replace(self.env, store=replace(self.env.store, **changes)))

    def with_server(self, **changes: Any) -> "Place":
        """Return the job with changed fields of the server."""
        return replace(self, env=replace(self.env, server=replace(self.env.server, **changes)))

    def with_login(self, **files: str | None) -> "Place":
        """Change files of the credentials; None removes one."""
        for name, content in files.items():
            file = self.folder / "credentials" / name
            if content is None:
                file.unlink()
            else:
                file.write_text(content)
        return self


def place(folder: Path, source: Source, store: Store) -> Place:
    """Create the files of a Job that backs up the source to the store."""
    credentials = folder / "credentials"
    credentials.mkdir()
    for name, content in store.secret().items():
        (credentials / name).write_text(content)
    (folder / "jwt").write_text(source.signer.token(SUBJECT))
    target = store.target()
    env = BackupEnv(
        run=RunEnv("openbaobackups", "ns", "nightly", "run-uid"),
        store=StoreEnv(
            target["provider"], target["bucket"], target["endpoint"], path_prefix="prod",
            use_path_style=True, credentials_path=str(credentials),
        ),
        server=ServerEnv(
            "ns", "c", ("c-0",), server_name="127.0.0.1", ca_path=str(source.authority),
            role=ROLE, jwt_path=str(folder / "jwt"),
        ),
        key=KEY, backup_name="nightly", cluster_uid=CLUSTER_UID, canary_path=CANARY,
        seal="static:key-1",
    )  # fmt: skip
    port = int(source.server.url.rpartition(":")[2])
    policy = EgressPolicy(permitted=(LOOPBACK,))
    return Place(
        folder, env, JobContext(SystemClock(), {}, policy, ServerAddresses(_loopback, port))
    )


def store_snapshot(store: Store, key: BackupKey, cluster_uid: str = CLUSTER_UID) -> str:
    """Write a snapshot and its manifest to the store, as an earlier Job does."""
    content = b"a snapshot"
    manifest = manifest_for(
        key.text, content, namespace=key.namespace, cluster=key.cluster, cluster_uid=cluster_uid
    )
    store.write(key.text, content, BUCKET)
    store.write(manifest_key(key.text), manifest.to_bytes(), BUCKET)
    return key.text


def retention(max_count: int = 0, **more: Any) -> RetentionEnv:
    """Retention rules."""
    return RetentionEnv(max_count=max_count, **more)
