"""Clusters with backups in a store, and their OpenBaoBackups and OpenBaoRestores."""

import hashlib
from dataclasses import dataclass
from typing import Any

import orjson

from contracts.api.group import BACKUPS, CLUSTERS, RESTORES
from contracts.naming.labels import TRIGGER_BACKUP
from contracts.naming.snapshot_keys import manifest_key
from e2e.harness.bao import AUDIENCE, BaoError, Server
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import CLIENT, SECRETS, STEADY, client_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.stores import CREDENTIALS, Store
from e2e.harness.waiting import ExpectationError, until
from e2e.harness.writing import may_write
from e2e.rig import RigError
from runtime.builtin_kinds import JOB, POD, SECRET
from runtime.types import Resource

NAME = "kept"
# Once a year: scenarios request their snapshots.
SELDOM = "0 3 1 1 *"
ENDED = frozenset({"Completed", "Failed", "Unknown"})
RUN_SECONDS = 90.0
UP_SECONDS = 180.0
CONNECTED_SECONDS = 30.0
_REDIRECT = 307


def make_credentials(api: Api, namespace: str, store: Store) -> None:
    """Create the Secret that backup targets of the store reference."""
    metadata = {"name": CREDENTIALS, "namespace": namespace}
    api.create(SECRET, {"metadata": metadata, "stringData": store.secret()})


def make_backup_cluster(
    api: Api,
    namespace: str,
    target: Object,
    store: Store | None = None,
    *,
    name: str = NAME,
    **spec: Any,
) -> Cluster:
    """Create a cluster with spec.backup and a client login, and wait until it is Available.

    `store` creates the Secret with its credentials first. `spec` adds or replaces fields; its key
    `backup` adds fields to spec.backup.
    """
    if store is not None:
        make_credentials(api, namespace, store)
    backup = {"schedule": SELDOM, "target": target, **spec.pop("backup", {})}
    fields: Object = {
        "backup": backup,
        "configuration": STEADY,
        "selfInit": self_init(key_value_engine(), *client_login(namespace)),
        **spec,
    }
    api.create(CLUSTERS, manifest(namespace, name, **fields))
    cluster = Cluster(api, namespace, name)
    may_write(cluster)
    cluster.await_available(UP_SECONDS)
    return cluster


@dataclass(frozen=True, slots=True)
class Reader:
    """A client application of the cluster that writes secrets and reads them."""

    server: Server
    token: str

    @classmethod
    def of(cls, cluster: Cluster, ordinal: int | None = None) -> "Reader":
        """Log in as the client of `manifests.client_login`, at the leader by default.

        A standby answers reads itself and may lag behind the leader. It sends a login to the
        leader; before it is connected to it, it answers with a redirect.
        """
        if ordinal is None:
            leader = until("one server leads", cluster.leader, 30.0)
            server = cluster.server(str(leader["metadata"]["name"]))
        else:
            server = cluster.server(ordinal)
        jwt = cluster.api.token(cluster.namespace, CLIENT, AUDIENCE)

        def login() -> str | None:
            try:
                return server.login(CLIENT, jwt)
            except BaoError as error:
                if error.code != _REDIRECT:
                    raise
                return None

        return cls(server, until("a server reaches the leader", login, CONNECTED_SECONDS))

    def write(self, key: str, value: str) -> None:
        """Write one secret."""
        self.server.post(f"{SECRETS}/{key}", self.token, {"value": value})

    def read(self, key: str) -> str:
        """Read one secret."""
        return str(self.server.get(f"{SECRETS}/{key}", self.token)["data"]["value"])


@dataclass(frozen=True, slots=True)
class Run:
    """An OpenBaoBackup or an OpenBaoRestore by name; it need not exist."""

    api: Api
    resource: Resource
    namespace: str
    name: str

    def live(self) -> Object:
        """Read the object."""
        return self.api.get(self.resource, self.namespace, self.name)

    @property
    def status(self) -> Object:
        """Its status; empty if there is none."""
        live = self.api.find(self.resource, self.namespace, self.name) or {}
        return live.get("status") or {}

    def await_phase(self, phase: str, seconds: float = RUN_SECONDS) -> Object:
        """Wait for a phase and return the status; fails immediately if it ends in another phase."""

        def status_in_phase() -> Object | None:
            status = self.status
            if status.get("phase") != phase and status.get("phase") in ENDED:
                raise ExpectationError(
                    f"{self.name} has ended, but not in {phase}:\n{self.describe()}"
                )
            return status if status.get("phase") == phase else None

        try:
            return until(f"{self.name} is {phase}", status_in_phase, seconds, every=0.05)
        except ExpectationError as error:
            raise ExpectationError(f"{error}\n{self.describe()}") from None

    def await_end(self, seconds: float = RUN_SECONDS) -> Object:
        """Wait until it has ended in any phase, and return the status."""

        def final_status() -> Object | None:
            status = self.status
            return status if status.get("phase") in ENDED else None

        try:
            return until(f"{self.name} has ended", final_status, seconds, every=0.05)
        except ExpectationError as error:
            raise ExpectationError(f"{error}\n{self.describe()}") from None

    def job(self) -> Object | None:
        """Its Job; None before it is created and after it is deleted."""
        status = self.status
        name = status.get("jobName") or (status.get("execution") or {}).get("jobName")
        return self.api.find(JOB, self.namespace, name) if name else None

    def pods(self) -> list[Object]:
        """Return the pods of its Job; at most one."""
        job = self.job()
        if job is None:
            return []
        chosen = f"batch.kubernetes.io/controller-uid={job['metadata']['uid']}"
        return self.api.list(POD, self.namespace, chosen)

    def exit_code(self) -> int:
        """Wait until the pod of its Job has terminated, which is after its report."""

        def code() -> list[int]:
            pods = self.pods()
            assert len(pods) == 1, "a Job must create exactly one pod"
            states = [
                status["state"] for status in pods[0]["status"].get("containerStatuses") or ()
            ]
            return [state["terminated"]["exitCode"] for state in states if "terminated" in state]

        return until(f"the pod of {self.name} has ended", code, 20.0, every=0.05)[0]

    def describe(self) -> str:
        """Return status, Job and the end of its log, for the message of a failure."""
        lines = [f"  status: {orjson.dumps(self.status).decode()}"]
        job = self.job()
        if job is not None:
            lines.append(f"  job: {orjson.dumps(job.get('status')).decode()}")
            try:
                log = self.api.rig.kubectl(
                    "-n", self.namespace, "logs", f"job/{job['metadata']['name']}", "--tail=20",
                    "--all-containers",
                )  # fmt: skip
            except RigError as error:
                log = str(error)
            lines += [f"    {line}" for line in log.splitlines()]
        return "\n".join(lines)


def backup_now(cluster: Cluster, name: str) -> Run:
    """Request a snapshot with an OpenBaoBackup."""
    metadata = {"name": name, "namespace": cluster.namespace}
    cluster.api.create(BACKUPS, {"metadata": metadata, "spec": {"cluster": cluster.name}})
    return Run(cluster.api, BACKUPS, cluster.namespace, name)


def trigger(cluster: Cluster, value: str) -> None:
    """Request a snapshot with the annotation on the cluster."""
    change = {"metadata": {"annotations": {TRIGGER_BACKUP: value}}}
    cluster.api.patch(CLUSTERS, cluster.namespace, cluster.name, change)


def backups_of(cluster: Cluster) -> list[Run]:
    """Return all OpenBaoBackups of a cluster, oldest first."""
    backups = [
        backup for backup in cluster.api.list(BACKUPS, cluster.namespace)
        if backup["spec"]["cluster"] == cluster.name
    ]  # fmt: skip
    backups.sort(
        key=lambda backup: (backup["metadata"]["creationTimestamp"], backup["metadata"]["name"])
    )
    return [
        Run(cluster.api, BACKUPS, cluster.namespace, backup["metadata"]["name"])
        for backup in backups
    ]


def restore(cluster: Cluster, name: str, source: Object, **spec: Any) -> Run:
    """Create an OpenBaoRestore for a cluster; `source` is spec.source."""
    metadata = {"name": name, "namespace": cluster.namespace}
    fields = {"cluster": cluster.name, "source": source, **spec}
    cluster.api.create(RESTORES, {"metadata": metadata, "spec": fields})
    return Run(cluster.api, RESTORES, cluster.namespace, name)


def recorded(cluster: Cluster) -> Object:
    """status.backup of the cluster; empty if there is none."""
    return cluster.live().get("status", {}).get("backup") or {}


def check_stored(store: Store, status: Object) -> Object:
    """Compare a Completed backup with the objects in the store, and return its manifest."""
    snapshot = status["snapshot"]
    key = snapshot["key"]
    assert key == status["key"]
    content = store.read(key)
    assert len(content) == snapshot["size"]
    assert f"sha256:{hashlib.sha256(content).hexdigest()}" == snapshot["digest"]
    manifest_: Object = orjson.loads(store.read(manifest_key(key)))
    for name in ("key", "size", "digest", "clusterID", "version", "index"):
        assert manifest_[name] == snapshot[name], name
    return manifest_
