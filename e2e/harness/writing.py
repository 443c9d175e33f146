"""A client that writes secrets while servers are replaced, and checks that none is lost.

It runs in its own thread. A write counts as acknowledged only after a success response.
"""

import threading
import time
from dataclasses import dataclass, field

from e2e.harness.bao import AUDIENCE, BaoError, Server
from e2e.harness.clusters import Cluster
from e2e.harness.manifests import CLIENT, SECRETS
from runtime.builtin_kinds import SERVICE_ACCOUNT

_PAUSE = 0.05


def may_write(cluster: Cluster) -> None:
    """Create the ServiceAccount that `manifests.client_login` grants a login to."""
    metadata = {"name": CLIENT, "namespace": cluster.namespace}
    cluster.api.create(SERVICE_ACCOUNT, {"metadata": metadata})


@dataclass(slots=True)
class Writer:
    """Writes until it is stopped. A context manager."""

    cluster: Cluster
    acknowledged: list[int] = field(default_factory=list)
    longest_gap: float = 0.0
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _server: Server | None = None
    _token: str = ""

    def __enter__(self) -> "Writer":
        self._connect()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(30.0)

    def lost(self) -> list[int]:
        """Return the acknowledged writes that can no longer be read."""
        self._connect()
        assert self._server is not None
        return [number for number in self.acknowledged if not self._reads(self._server, number)]

    def _reads(self, server: Server, number: int) -> bool:
        try:
            response = server.get(f"{SECRETS}/canary-{number}", self._token)
        except BaoError:
            return False
        return bool(response["data"] == {"value": str(number)})

    def _connect(self) -> None:
        """Connect to the leader and log in."""
        end = time.monotonic() + 60.0
        while True:
            try:
                leader = self.cluster.leader()
                ordinal = 0 if leader is None else int(leader["metadata"]["name"].rsplit("-")[-1])
                self._server = self.cluster.server(ordinal)
                if not self._token:
                    jwt = self.cluster.api.token(self.cluster.namespace, CLIENT, AUDIENCE)
                    self._token = self._server.login(CLIENT, jwt)
            except Exception:
                if time.monotonic() > end:
                    raise
                time.sleep(_PAUSE)
            else:
                return

    def _run(self) -> None:
        number, last = 0, time.monotonic()
        while not self._stop.is_set():
            number += 1
            if self._write(number):
                now = time.monotonic()
                self.longest_gap = max(self.longest_gap, now - last)
                last = now
                self.acknowledged.append(number)
            time.sleep(_PAUSE)

    def _write(self, number: int) -> bool:
        assert self._server is not None
        try:
            self._server.post(f"{SECRETS}/canary-{number}", self._token, {"value": str(number)})
        except (BaoError, OSError):
            # The server is stopping, starting, or no longer the leader: find the leader.
            self._connect()
            return False
        return True
