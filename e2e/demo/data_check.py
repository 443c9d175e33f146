"""Checks that data of an application survive the loss of the leader."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from contracts.naming import names
from e2e.demo.bao import DeniedError, Health, OpenBao, UnavailableError
from e2e.demo.errors import DemoError
from e2e.demo.journal import Journal
from e2e.demo.kubectl import Kubectl
from e2e.demo.objects import holds, is_ready, name_of, status_of, uid_of
from e2e.demo.sample import Sample
from e2e.demo.screen import Screen, duration
from e2e.demo.waiting import Until, cluster_pods, until

MOUNT = "jwt-operator"
AUDIENCE = "openbao-internal"
SECRET_PATH = "secret/data/quickstart/hello"  # noqa: S105  a path, not a secret
SERVE_SECONDS = 60.0
# Seconds until a standby must have the writes that the leader acknowledged.
STANDBY_SECONDS = 5.0
ELECTION_SECONDS = 60.0
RECOVERY_SECONDS = 120.0
_POLL_SECONDS = 0.25
# One second from the signal to the kill. With 0 the object is deleted before its process ends, and
# two pods of the same name could use the volume.
_GRACE = "--grace-period=1"
Got = TypeVar("Got")


@dataclass(slots=True)
class DataCheck:
    """One cluster, one application, one secret."""

    sample: Sample
    kubectl: Kubectl
    journal: Journal
    screen: Screen
    bao: OpenBao

    def log_in(self) -> None:
        """Log in as the application. Raises DemoError."""
        home, account = self.sample.home, self.sample.application
        audience = f"--audience={AUDIENCE}"
        jwt = self.kubectl("create", "token", account, "-n", home, audience).strip()
        self.bao = self._serve(lambda: self.bao.login(MOUNT, account, jwt), "the login")
        self.screen.say(f"logged in as ServiceAccount {account} at Service {self._service}")

    def write_secret(self) -> str:
        """Log in as the application and write a random value; return it. Raises DemoError."""
        self.log_in()
        value = secrets.token_hex(16)
        self._serve(lambda: self.bao.write(SECRET_PATH, {"value": value}), "the write")
        self.screen.say(f"wrote {SECRET_PATH}")
        self.read_back(value)
        return value

    def kill_leader(self, value: str) -> None:
        """Kill the leader; wait for a new leader and read the value back."""
        victim = self._leader(())
        before = self._uids()[victim]
        began = time.monotonic()
        home = self.sample.home
        self.kubectl("delete", "pod", victim, "-n", home, _GRACE, "--wait=false")
        self.screen.say(f"killed {victim}, the leader (deleted, with a grace period of one second)")
        successor = self._leader((victim,))
        elected = time.monotonic() - began
        self.screen.say(f"{successor} is the leader, {duration(elected)} after the kill")
        self.read_back(value)
        served = time.monotonic() - began
        self.screen.say(f"the secret can be read, {duration(served)} after the kill")
        self._until_new_pod(victim, before)

    def await_recovery(self) -> None:
        """Wait until all servers are ready voters, and compare their cluster ids."""
        pods = [names.pod(self.sample.name, number) for number in range(self.sample.replicas)]

        def is_settled(cluster: dict[str, object]) -> bool:
            ready = {name_of(pod) for pod in self._pods() if is_ready(pod)}
            leader = status_of(cluster).get("activeLeader")
            whole = holds(cluster, "Available") and holds(cluster, "RaftMembershipReady")
            return whole and ready == set(pods) and leader in pods

        rule = Until(is_settled, RECOVERY_SECONDS)
        cluster = until(self.journal, self.screen, self.sample.name, "Available", rule)
        ids = {pod: self._cluster_id(pod) for pod in pods}
        if len(set(ids.values())) != 1:
            listed = ", ".join(f"{pod} is in {cluster_id}" for pod, cluster_id in ids.items())
            raise DemoError(f"the servers are in different clusters: {listed}")
        raft = (status_of(cluster).get("adminOps") or {}).get("raft") or {}
        voters = raft.get("voters")
        if voters != self.sample.replicas:
            raise DemoError(f"{voters} voters instead of {self.sample.replicas}")
        self.screen.say(f"{len(pods)} servers ready, {voters} voters")
        self.screen.say(f"all of them in cluster {ids[pods[0]]}")
        versions = sorted({self._health(pod).version for pod in pods})
        self.screen.say(f"sys/health reports version {', '.join(versions)}")

    def read_back(self, value: str) -> None:
        """Read the secret as the application until it is visible. Raises DemoError.

        From OpenBao 2.5 on, a standby answers reads itself, and may lag behind the leader.
        """
        deadline = time.monotonic() + STANDBY_SECONDS
        while True:
            try:
                stored = self._serve(lambda: self.bao.read(SECRET_PATH), "the read")
                failure = f"{SECRET_PATH} has another value than was written"
            except DeniedError as error:
                stored, failure = {}, str(error)
            if stored == {"value": value}:
                return
            if time.monotonic() > deadline:
                raise DemoError(failure)
            time.sleep(_POLL_SECONDS)

    @property
    def _service(self) -> str:
        return names.public_service(self.sample.name)

    def _serve(self, request: Callable[[], Got], what: str) -> Got:
        """Retry until it succeeds. Raises DemoError; immediately if it is refused."""
        deadline = time.monotonic() + SERVE_SECONDS
        while True:
            try:
                result = request()
            except UnavailableError as error:
                if time.monotonic() > deadline:
                    raise DemoError(f"{what} got no response: {error}") from error
                self.screen.waiting(f"{what} is retried: {error}")
                time.sleep(_POLL_SECONDS)
            else:
                self.screen.waiting("")
                return result

    def _leader(self, gone: tuple[str, ...]) -> str:
        """Return the leader; pods in ``gone`` are skipped. Raises DemoError."""
        deadline = time.monotonic() + ELECTION_SECONDS
        while True:
            pods = [name_of(pod) for pod in self._pods() if name_of(pod) not in gone]
            for pod in pods:
                health = self.bao.health(pod)
                if health is not None and health.leads:
                    self.screen.waiting("")
                    return pod
            if time.monotonic() > deadline:
                raise DemoError(f"no leader among {', '.join(pods)} for {ELECTION_SECONDS:.0f} s")
            self.screen.waiting(f"{' and '.join(pods)} have no leader yet")
            time.sleep(_POLL_SECONDS)

    def _until_new_pod(self, name: str, before: str) -> None:
        deadline = time.monotonic() + RECOVERY_SECONDS
        while self._uids().get(name, before) == before:
            if time.monotonic() > deadline:
                raise DemoError(f"{name} was not recreated after {RECOVERY_SECONDS:.0f} s")
            self.screen.waiting(f"{name} is being recreated")
            self.journal.wait(_POLL_SECONDS)
        self.screen.waiting("")

    def _cluster_id(self, pod: str) -> str:
        health = self._health(pod)
        if not health.cluster_id:
            raise DemoError(f"{pod} does not report its cluster id")
        return health.cluster_id

    def _health(self, pod: str) -> Health:
        health = self.bao.health(pod)
        if health is None:
            raise DemoError(f"{pod} does not respond to sys/health")
        return health

    def _pods(self) -> list[dict[str, object]]:
        return cluster_pods(self.journal, self.sample.name)

    def _uids(self) -> dict[str, str]:
        return {name_of(pod): uid_of(pod) for pod in self._pods()}
