"""Writes ten secrets per second through the Service of a cluster, during a scenario.

The client is a process in the network of the rig (`service_client`), independent of the test
process and of routes of the host. Needs `manifests.key_value_engine`, `manifests.client_login`
and `writing.may_write`.
"""

import base64
import dataclasses
import itertools
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.harness.bao import AUDIENCE, PORT, BaoError
from e2e.harness.budgets import budget
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api, ApiError, Object
from e2e.harness.manifests import CLIENT, SECRETS, STEADY, client_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.service_client import READ_BACK, Connection, Target
from e2e.harness.waiting import until
from e2e.harness.writing import may_write
from e2e.rig.paths import REPOSITORY
from runtime.builtin_kinds import SECRET, SERVICE
from runtime.types import uid_of

_LOOK = 0.2
_SHOWN = 20
_TROUBLE = (ApiError, OSError, BaoError, KeyError, AssertionError)


def steady_voters(api: Api, namespace: str, name: str, **spec: object) -> Cluster:
    """Create three voters, or `replicas`, with a login and a secrets engine for the client."""
    requests = (key_value_engine(), *client_login(namespace))
    fields = {"replicas": 3, "configuration": STEADY, "selfInit": self_init(*requests), **spec}
    api.create(CLUSTERS, manifest(namespace, name, **fields))
    cluster = Cluster(api, namespace, name)
    may_write(cluster)
    cluster.await_available(120.0)
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    return cluster


def write_without_loss(cluster: Cluster, gap: float) -> Iterator["ServiceWriter"]:
    """Write during a fixture; fails if a write is lost. `gap` is the budget of the longest gap."""
    with ServiceWriter(cluster) as writer:
        yield writer
    print(f"  {writer.describe()}")
    assert writer.acknowledged
    assert writer.lost() == []
    budget("longest gap of a client", writer.longest_gap, gap, "s")


@dataclass(slots=True)
class ServiceWriter:
    """Writes during its context. The results are available during and after it."""

    cluster: Cluster
    reads_back: bool = False
    """Read each acknowledged write immediately; `missed` has those that were not visible."""
    service: Callable[[str], str] = names.public_service
    """Returns the name of the Service of a cluster."""
    patience: float = 2.0
    """Seconds that a request may take before it counts as failed."""
    leaders: list[str] = field(default_factory=list)
    """Names of the pods that reported to lead, in order."""
    _target: Target | None = None
    _process: "subprocess.Popen[bytes] | None" = None
    _log: Path | None = None
    _started: float = 0.0
    _ended: float | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _uids: list[str] = field(default_factory=list)

    def __enter__(self) -> "ServiceWriter":
        self._target = self._service()
        self._log = Path(tempfile.mkdtemp(prefix="service-writer-")) / "told"
        argv = self.cluster.api.rig.inside(
            "setpriv", "--pdeathsig", "KILL", "--",
            sys.executable, "-m", "e2e.harness.service_client",
            *([READ_BACK] if self.reads_back else []),
        )  # fmt: skip
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(
                argv, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=output
            )
        assert self._process.stdin is not None
        self._process.stdin.write(orjson.dumps(dataclasses.asdict(self._target)))
        self._process.stdin.close()
        until("the first write is acknowledged", lambda: self.acknowledged, 20.0)
        self._started = time.monotonic()
        self._thread = threading.Thread(target=self._watch_leaders, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._ended = time.monotonic()
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._stop.set()
        if self._thread is not None:
            self._thread.join(30.0)

    @property
    def writes(self) -> list[Object]:
        """All writes so far: number, at, failed."""
        assert self._log is not None
        lines = self._log.read_bytes().split(b"\n")
        # The text after the last newline is an incomplete line, or empty.
        return [orjson.loads(line) for line in lines[:-1]]

    @property
    def acknowledged(self) -> list[int]:
        """The numbers of the acknowledged writes."""
        return [write["number"] for write in self.writes if not write["failed"]]

    @property
    def failed(self) -> list[Object]:
        """The failed writes."""
        return [write for write in self.writes if write["failed"]]

    @property
    def missed(self) -> list[Object]:
        """The acknowledged writes that could not be read immediately, with the response."""
        return [write for write in self.writes if write["missed"]]

    @property
    def longest_gap(self) -> float:
        """The longest time without an acknowledged write, in seconds."""
        ends = [float(write["at"]) for write in self.writes if not write["failed"]]
        moments = [self._started, *(at for at in ends if at > self._started)]
        moments.append(self._ended or time.monotonic())
        return max(later - earlier for earlier, later in itertools.pairwise(moments))

    @property
    def leader_changes(self) -> int:
        """The number of leader changes."""
        return max(0, len(self.leaders) - 1)

    def lost(self) -> list[int]:
        """Return the acknowledged writes that can no longer be read from the leader."""
        assert self._target is not None
        address = until("a server leads", self._leader_address, 60.0)
        connection = Connection(dataclasses.replace(self._target, address=address, port=PORT))
        try:
            return [number for number in self.acknowledged if not connection.reads(number)]
        finally:
            connection.close()

    def describe(self) -> str:
        """Return a summary line, and a line for each of the first failed writes."""
        failed = self.failed
        lines = [
            f"{len(self.acknowledged)} writes, {len(failed)} failed, longest gap "
            f"{self.longest_gap:.2f} s, leaders {' > '.join(self.leaders)}"
        ]
        lines += [
            f"    at {write['at'] - self._started:.2f} s, after {write['took']:.2f} s: "
            f"{write['failed']}"
            for write in failed[:_SHOWN]
        ]
        return "\n".join(lines)

    def _leader_address(self) -> str | None:
        leader = self.cluster.leader()
        return str(leader["status"]["podIP"]) if leader else None

    def _service(self) -> Target:
        api, namespace, name = self.cluster.api, self.cluster.namespace, self.cluster.name
        authority = api.get(SECRET, namespace, names.tls_ca_secret(name))["data"]["ca.crt"]
        service = api.get(SERVICE, namespace, self.service(name))
        return Target(
            address=str(service["spec"]["clusterIP"]),
            port=PORT,
            authority=base64.b64decode(authority).decode(),
            server_name=names.raft_server_name(name),
            token=until("the client logs in", self._login, 60.0, tolerate=_TROUBLE),
            # A separate folder: keys of an earlier writer would hide a lost write.
            path=f"{SECRETS}/{uuid.uuid4().hex[:8]}",
            patience=self.patience,
        )

    def _login(self) -> str | None:
        leader = self.cluster.leader()
        if leader is None:
            return None
        jwt = self.cluster.api.token(self.cluster.namespace, CLIENT, AUDIENCE)
        return self.cluster.server(str(leader["metadata"]["name"])).login(CLIENT, jwt)

    def _watch_leaders(self) -> None:
        while not self._stop.wait(_LOOK):
            try:
                leader = self.cluster.leader()
            except _TROUBLE:
                continue
            if leader is not None and [uid_of(leader)] != self._uids[-1:]:
                self._uids.append(uid_of(leader))
                self.leaders.append(str(leader["metadata"]["name"]))
