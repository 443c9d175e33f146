"""Several real OpenBao servers of one cluster, each at its own loopback address.

The first server starts with the self-init document, so that the roles of Jobs are those of a
cluster; the others join. All servers share one certificate with one name.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from baoctl.jobs.leader_client import ServerAddresses
from contracts.api.cluster.job_roles import DEFAULTS
from contracts.hcl.render import ConfigInput, OidcBootstrap, render_self_init
from contracts.hcl.roles import upgrade_role
from contracts.jobs.env import ServerEnv
from contracts.naming import mount_paths
from managers.bao.client import Bao, BaoError, Denied
from managers.bao.models import Member
from runtime.client.write_guard import allow_writes
from runtime.clock import SystemClock
from tests.integration.account_tokens import AUDIENCE, ISSUER, Signer
from tests.integration.bao_server import ROOT_TOKEN, free_port, make_certificate

NS, CLUSTER = "ns", "c"
SUBJECT = f"system:serviceaccount:{NS}:{CLUSTER}-upgrade-serviceaccount"
NAME = "127.0.0.1"
"""The name in the certificate of all servers."""
LEADS = "acquired lock, enabling active operation"
"""The log line of a server that becomes the leader."""


@dataclass
class Fleet:
    """Servers by the names of their pods; each has its own address."""

    folder: Path
    binary: Path
    port: int
    cluster_port: int
    signer: Signer
    autopilot_reads: str = "500ms"
    """How often autopilot reads the state of the servers; by default, every two seconds."""
    addresses: dict[str, str] = field(default_factory=dict)
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    def start(self, pod: str, *, self_init: str = "", joins: Sequence[str] = ()) -> None:
        """Start a server with empty storage; without `joins` it waits for a join request."""
        self.addresses[pod] = f"127.9.0.{len(self.addresses) + 1}"
        own = self.folder / pod
        (own / "data").mkdir(parents=True)
        (own / "config.hcl").write_text(self._config(pod, joins))
        command = [str(self.binary), "server", "-config", str(own / "config.hcl")]
        if self_init:
            (own / "self-init.hcl").write_text(self_init)
            command += ["-config", str(own / "self-init.hcl")]
        environment = {
            "PATH": os.environ["PATH"],
            "BAO_RAFT_NODE_ID": pod,
            "BAO_API_ADDR": f"https://{self.addresses[pod]}:{self.port}",
            "BAO_CLUSTER_ADDR": f"https://{self.addresses[pod]}:{self.cluster_port}",
        }
        with (own / "log").open("wb") as output:
            self.processes[pod] = subprocess.Popen(
                command, env=environment, stdout=output, stderr=subprocess.STDOUT
            )

    def _config(self, pod: str, joins: Sequence[str]) -> str:
        tls = self.folder / "tls"
        blocks = "\n".join(
            f"""  retry_join {{
    leader_api_addr       = "https://{self.addresses[peer]}:{self.port}"
    leader_ca_cert_file   = "{tls}/ca.crt"
    leader_tls_servername = "{NAME}"
  }}"""
            for peer in joins
        )
        return f"""
listener "tcp" {{
  address         = "{self.addresses[pod]}:{self.port}"
  cluster_address = "{self.addresses[pod]}:{self.cluster_port}"
  tls_cert_file   = "{tls}/tls.crt"
  tls_key_file    = "{tls}/tls.key"
}}
seal "static" {{
  current_key    = "file://{self.folder}/unseal"
  current_key_id = "k1"
}}
storage "raft" {{
  path                   = "{self.folder}/{pod}/data"
  performance_multiplier = 1
  # Votes change every ten seconds by default, and each step of an upgrade waits for that.
  autopilot_reconcile_interval = "1s"
  autopilot_update_interval    = "{self.autopilot_reads}"
{blocks}
}}
"""

    def kill(self, *pods: str) -> None:
        """Kill servers."""
        for pod in pods:
            process = self.processes.pop(pod)
            process.kill()
            process.wait()

    async def resolve(self, host: str) -> str:
        """Resolve as the headless Service does. Raises OSError for a pod that is not running."""
        pod = host.partition(".")[0]
        if pod not in self.processes:
            raise OSError(host)
        return self.addresses[pod]

    @property
    def reach(self) -> ServerAddresses:
        """The addresses of the servers for Jobs."""
        return ServerAddresses(self.resolve, self.port)

    def env(self, *pods: str) -> ServerEnv:
        """The environment of a Job with these servers."""
        token = self.folder / "jwt"
        token.write_text(self.signer.token(SUBJECT))
        return ServerEnv(
            NS, CLUSTER, pods, server_name=NAME, ca_path=str(self.folder / "tls" / "ca.crt"),
            role=DEFAULTS["upgrade"], jwt_path=str(token),
        )  # fmt: skip

    def client(self) -> Bao:
        """The client that the operator uses, for these servers."""
        return Bao(
            (self.folder / "tls" / "ca.crt").read_text(), NAME, self.port, guard=allow_writes
        )

    def leads(self) -> int:
        """How often a server became the leader."""
        logs = (self.folder / pod / "log" for pod in self.addresses)
        return sum(log.read_text(errors="replace").count(LEADS) for log in logs)

    async def leader(self) -> str:
        """The leader. Fails if there is none in time."""
        process: str | None = None
        async with self.client() as bao:
            clock = SystemClock()
            ends = clock.monotonic() + 40.0
            while process is None and clock.monotonic() < ends:
                await clock.sleep(0.1)
                active = [pod for pod in self.processes if await self._active(bao, pod)]
                process = active[0] if len(active) == 1 else None
        assert process is not None, self._tails()
        return process

    async def members(self) -> dict[str, Member]:
        """The members by node id, as reported by the leader."""
        leader = self.addresses[await self.leader()]
        async with self.client() as bao:
            token = await self._token(bao, leader)
            return {member.node_id: member for member in await bao.members(leader, token)}

    async def wait_for(self, voters: Sequence[str]) -> None:
        """Wait until these servers are voters and healthy."""
        clock = SystemClock()
        ends = clock.monotonic() + 60.0
        while clock.monotonic() < ends:
            await clock.sleep(0.2)
            leader = self.addresses[await self.leader()]
            async with self.client() as bao:
                try:
                    state = await bao.autopilot_state(leader, await self._token(bao, leader))
                except (BaoError, Denied):
                    continue
            well = [pod for pod, server in (state.servers or {}).items() if server.healthy]
            if {*voters} <= {*(state.voters or ())} and {*voters} <= {*well}:
                return
        raise AssertionError(self._tails())

    async def _token(self, bao: Bao, address: str) -> str:
        own = self.signer.token(SUBJECT)
        return (await bao.login(address, "jwt-operator", DEFAULTS["upgrade"], own)).client_token

    async def _active(self, bao: Bao, pod: str) -> bool:
        try:
            health = await bao.health(self.addresses[pod])
        except BaoError:
            return False
        return health.initialized and not health.sealed and not health.standby

    def _tails(self) -> str:
        return "\n".join(
            f"--- {pod}\n{(self.folder / pod / 'log').read_text(errors='replace')[-1500:]}"
            for pod in self.addresses
        )


@contextmanager
def fleet(
    binary: Path,
    folder: Path,
    pods: Sequence[str],
    *,
    blue_green: bool,
    autopilot_reads: str = "500ms",
) -> Iterator[Fleet]:
    """Run a cluster until the end of the context; its first server is the first of `pods`."""
    (folder / "tls").mkdir()
    make_certificate(folder / "tls")
    (folder / "unseal").write_bytes(os.urandom(32))
    signer = Signer()
    role = upgrade_role(DEFAULTS["upgrade"], (SUBJECT,), blue_green=blue_green)
    oidc = OidcBootstrap(AUDIENCE, ISSUER, (signer.public,), (role,))
    self_init = render_self_init(ConfigInput(CLUSTER, NS, oidc=oidc))
    (folder / "root-token").write_text(ROOT_TOKEN)
    self_init = self_init.replace(f"{mount_paths.ROOT_TOKEN}/token", str(folder / "root-token"))
    fleet = Fleet(folder, binary, free_port(), free_port(), signer, autopilot_reads)
    try:
        fleet.start(pods[0], self_init=self_init)
        for pod in pods[1:]:
            fleet.start(pod, joins=pods[:1])
        yield fleet
    finally:
        fleet.kill(*list(fleet.processes))
