"""`kubectl bao bench` on two real servers: figures for each operation, and the cleanup.

No figure has a bound here: they depend on the machine.
"""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import orjson
import pytest

from baoctl.commands.bench.connections import SPARE_SECONDS
from contracts.api.group import CLUSTERS
from e2e.conftest import MakeNamespace
from e2e.harness.bao import MOUNT, BaoError, Server
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import SECRETS, STEADY, account_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.waiting import until
from e2e.rig.paths import REPOSITORY
from e2e.rig.versions import OPENBAO
from runtime.builtin_kinds import SERVICE_ACCOUNT

NAME = "speed"
# A leader, and a standby that forwards.
SERVERS = 2
# An account that may mount engines, one that may use an existing one, and one that checks what a
# run left.
MOUNTER, WRITER, AUDITOR = "mounter", "writer", "auditor"
OPERATIONS = ("writes", "reads", "logins")
SECONDS = 120.0
SHORT = ("--only", "reads", "--duration", "1s", "-o", "json")
ENGINE = "bao_bench_"
LOGIN = f"auth/{MOUNT}/login"
POLICIES = {
    MOUNTER: (
        'path "sys/mounts/bao_bench_*" { capabilities = ["update", "delete"] }\n'
        'path "bao_bench_*" { capabilities = ["create", "read", "update"] }'
    ),
    WRITER: (
        f'path "{SECRETS}/bao_bench_*" '
        '{ capabilities = ["create", "read", "update", "delete"] }'
    ),
    AUDITOR: (
        'path "sys/mounts" { capabilities = ["read"] }\n'
        'path "auth/token/accessors*" { capabilities = ["list", "sudo"] }\n'
        'path "auth/token/lookup-accessor" { capabilities = ["update"] }\n'
        'path "auth/token/revoke-accessor" { capabilities = ["update"] }\n'
        'path "sys/mounts/bao_bench_*" { capabilities = ["delete"] }\n'
        'path "sys/leases/lookup/*" { capabilities = ["list", "sudo"] }\n'
        f'path "{SECRETS}/*" {{ capabilities = ["list", "read", "create", "update"] }}'
    ),
}  # fmt: skip
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def cluster(api: Api, make_namespace: MakeNamespace, operator: Operator) -> Cluster:
    """Two servers, and a login for each of the ServiceAccounts."""
    cluster = Cluster(api, make_namespace(), NAME)
    namespace = cluster.namespace
    requests: list[Object] = [key_value_engine()]
    for account, policy in POLICIES.items():
        api.create(SERVICE_ACCOUNT, {"metadata": {"name": account, "namespace": namespace}})
        requests += account_login(cluster.audience, namespace, account, policy)
    spec = {"replicas": SERVERS, "configuration": STEADY, "selfInit": self_init(*requests)}
    api.create(CLUSTERS, manifest(namespace, NAME, **spec))
    cluster.await_available()
    return cluster


@dataclass(frozen=True, slots=True)
class Auditor:
    """Finds what a run left in the servers."""

    server: Server
    token: str = field(repr=False)

    def mounts(self) -> dict[str, str]:
        """Return the engines, each with its id."""
        data = self.server.get("sys/mounts", self.token)["data"]
        return {path: str(entry["uuid"]) for path, entry in data.items()}

    def keys(self, path: str) -> list[str]:
        """List the keys below a path."""
        try:
            answer = self.server.get(f"{path}?list=true", self.token)
        except BaoError as error:
            if error.code != 404:
                raise
            return []
        return sorted(answer["data"]["keys"])

    def logins(self) -> tuple[list[str], int]:
        """Return the roles of the tokens of the login, and how many leases it has."""
        roles = []
        for accessor in self.keys("auth/token/accessors"):
            try:
                body = {"accessor": accessor}
                data = self.server.post("auth/token/lookup-accessor", self.token, body)["data"]
            except BaoError:
                # It was revoked in the meantime.
                continue
            if data["path"] == LOGIN:
                roles.append(str(data["meta"]["role"]))
        return sorted(roles), len(self.keys(f"sys/leases/lookup/{LOGIN}"))

    def token_of_a_run(self) -> Object:
        """Look up the token that a run left."""
        for accessor in self.keys("auth/token/accessors"):
            body = {"accessor": accessor}
            data: Object = self.server.post("auth/token/lookup-accessor", self.token, body)["data"]
            if data["path"] == LOGIN and data["meta"]["role"] == MOUNTER:
                return data
        raise AssertionError("no token of a run was found")

    def await_clean(self, before: dict[str, str]) -> None:
        """Wait until no token of a run exists. Those of the operator come and go."""

        def clean() -> bool:
            roles, leases = self.logins()
            return not {MOUNTER, WRITER} & set(roles) and leases == len(roles)

        until("all tokens of a run are revoked, and their leases", clean, 10.0)
        assert self.mounts() == before
        assert not [key for key in self.keys(SECRETS) if key.startswith(ENGINE)]


@pytest.fixture(scope="module")
def auditor(cluster: Cluster) -> Auditor:
    server = cluster.server()
    return Auditor(server, token_of(cluster, AUDITOR))


def token_of(cluster: Cluster, account: str) -> str:
    jwt = cluster.api.token(cluster.namespace, account, cluster.audience)
    return cluster.server().login(account, jwt)


def bench_arguments(cluster: Cluster, account: str, *more: str) -> list[str]:
    return ["bench", NAME, "-n", cluster.namespace, "--service-account", account, *more]


def bench(
    cluster: Cluster, account: str, *more: str, **environ: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "baoctl", *bench_arguments(cluster, account, *more)],
        cwd=REPOSITORY,
        env={**cluster.api.rig.environment(), **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


def test_each_operation_has_figures_and_nothing_is_left(cluster: Cluster, auditor: Auditor) -> None:
    before = auditor.mounts()
    done = bench(cluster, MOUNTER, "--duration", "1s", "-o", "json")
    assert done.returncode == 0, done.stderr
    report = orjson.loads(done.stdout)
    leader = cluster.leader()
    assert leader is not None
    assert (report["leader"], report["servers"]) == (leader["metadata"]["name"], SERVERS)
    assert (report["version"], report["connectionsToLeader"]) == (OPENBAO, 8)
    assert [operation["operation"] for operation in report["operations"]] == list(OPERATIONS)
    for operation in report["operations"]:
        assert operation["perSecond"] > 0
        assert 0 < operation["p50Ms"] <= operation["p99Ms"] <= operation["maxMs"]
        assert (operation["errors"], operation["errorCounts"]) == (0, {})
    auditor.await_clean(before)
    print(done.stderr, done.stdout)

    shown = bench(cluster, MOUNTER, "--duration", "1s", "--workers", "2", "--size", "16KiB")
    assert shown.returncode == 0, shown.stderr
    print(shown.stdout)
    assert "16384 bytes each, in a key-value engine of version 2" in shown.stdout
    assert f"port-forward by the API server to {report['leader']}" in shown.stdout
    auditor.await_clean(before)


@pytest.mark.parametrize(
    ("operation", "number"),
    [("writes", signal.SIGTERM), ("reads", signal.SIGINT), ("logins", signal.SIGTERM)],
)
def test_a_signal_ends_the_run_and_leaves_nothing(
    cluster: Cluster, auditor: Auditor, operation: str, number: signal.Signals
) -> None:
    before = auditor.mounts()
    with run_bench(cluster, MOUNTER, "--only", operation, "--duration", "5m") as process:
        await_line(process, f"Measuring {operation}")
        own = [path for path in auditor.mounts() if path.startswith(ENGINE)]
        assert len(own) == (operation != "logins")
        until("the token of the run exists", lambda: MOUNTER in auditor.logins()[0], 10.0)
        process.send_signal(number)
        output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 128 + number, output
    auditor.await_clean(before)


def test_a_killed_run_leaves_a_short_token_and_a_named_engine(
    cluster: Cluster, auditor: Auditor
) -> None:
    before = auditor.mounts()
    with run_bench(cluster, MOUNTER, "--only", "writes", "--duration", "2m") as process:
        await_line(process, "Measuring writes")
        process.kill()
        process.communicate(timeout=SECONDS)
    (path,) = set(auditor.mounts()) - set(before)
    mount = path.removesuffix("/")
    left = auditor.token_of_a_run()
    # The duration of the load and a spare; the role would allow a longer TTL.
    assert left["ttl"] <= 120 + SPARE_SECONDS < left["creation_ttl"]
    done = bench(cluster, MOUNTER, "--duration", "1s", "-o", "json")
    assert done.returncode == 0, done.stderr
    notes = orjson.loads(done.stdout)["notes"]
    assert [note for note in notes if note.endswith(f"bao secrets disable {mount}")]
    auditor.server.delete(f"sys/mounts/{mount}", auditor.token)
    auditor.server.post("auth/token/revoke-accessor", auditor.token, {"accessor": left["accessor"]})
    auditor.await_clean(before)


@contextmanager
def run_bench(cluster: Cluster, account: str, *more: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "baoctl", *bench_arguments(cluster, account, *more)],
        cwd=REPOSITORY,
        env=cluster.api.rig.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def await_line(process: subprocess.Popen[str], start: str) -> None:
    """Read standard error up to a line; without one, the timeout of the test ends it."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if line.startswith(start):
            return
    raise AssertionError(f"no line {start!r}: {lines}")


@pytest.mark.parametrize("number", [None, signal.SIGTERM])
def test_an_existing_engine_keeps_its_data(
    cluster: Cluster, auditor: Auditor, number: signal.Signals | None
) -> None:
    before = auditor.mounts()
    auditor.server.post(f"{SECRETS}/kept", auditor.token, {"value": "1"})
    more = ("--mount", SECRETS, "--only", "writes")
    if number is None:
        done = bench(cluster, WRITER, *more, "--duration", "1s", "-o", "json")
        assert done.returncode == 0, done.stderr
        assert orjson.loads(done.stdout)["engine"] == f"a key-value engine of version 1 ({SECRETS})"
    else:
        with run_bench(cluster, WRITER, *more, "--duration", "5m") as process:
            await_line(process, "Measuring writes")
            assert [key for key in auditor.keys(SECRETS) if key.startswith(ENGINE)]
            process.send_signal(number)
            process.communicate(timeout=SECONDS)
        assert process.returncode == 128 + number
    auditor.await_clean(before)
    assert auditor.keys(SECRETS) == ["kept"]


def test_a_missing_capability_is_named(cluster: Cluster, auditor: Auditor) -> None:
    before = auditor.mounts()
    refused = bench(cluster, WRITER, "--duration", "1s")
    assert refused.returncode == 4
    assert f"the token lacks update, delete at sys/mounts/{ENGINE}" in refused.stderr
    assert "use --mount" in refused.stderr
    elsewhere = bench(cluster, MOUNTER, "--mount", SECRETS, "--duration", "1s")
    assert elsewhere.returncode == 4
    auditor.await_clean(before)


def test_a_token_of_the_user_and_a_standby(cluster: Cluster, auditor: Auditor) -> None:
    """Without a role for the ServiceAccount, logins are not measured; a standby forwards."""
    before = auditor.mounts()
    leader = cluster.leader()
    assert leader is not None
    standby = next(
        pod for pod in cluster.pods() if pod["metadata"]["name"] != leader["metadata"]["name"]
    )
    address = f"https://{standby['status']['podIP']}:8200"
    token = token_of(cluster, MOUNTER)
    done = bench(
        cluster, "default", "--address", address, "--duration", "1s", "-o", "json", BAO_TOKEN=token
    )
    assert done.returncode == 0, done.stderr
    report = orjson.loads(done.stdout)
    assert (report["path"], report["connectionsToStandbys"]) == (address, 8)
    assert [operation["operation"] for operation in report["operations"]] == ["writes", "reads"]
    assert any(note.startswith("logins were not measured") for note in report["notes"])
    assert token not in done.stdout + done.stderr
    cluster.server().post("auth/token/revoke-self", token, {})
    auditor.await_clean(before)


@pytest.mark.parametrize(("typed", "status"), [("speed2", 2), (NAME, 0)])
def test_a_user_at_a_terminal_must_type_the_name(cluster: Cluster, typed: str, status: int) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, f"{typed}\n".encode())
    done = subprocess.run(
        [sys.executable, "-m", "baoctl", *bench_arguments(cluster, MOUNTER, *SHORT)],
        cwd=REPOSITORY,
        env=cluster.api.rig.environment(),
        stdin=theirs,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    os.close(theirs)
    os.close(ours)
    assert done.returncode == status, done.stderr
    assert f"Type {NAME} to continue" in done.stderr
    assert bool(done.stdout) == (status == 0)
    assert status == 2 or orjson.loads(done.stdout)["operations"]


def test_a_cluster_that_is_not_available_is_refused(cluster: Cluster, api: Api) -> None:
    api.patch(CLUSTERS, cluster.namespace, NAME, {"spec": {"hibernate": True}})
    cluster.await_condition("Hibernated")
    refused = bench(cluster, MOUNTER, "--duration", "1s")
    assert (refused.returncode, "is not Available" in refused.stderr) == (4, True)
    forced = bench(cluster, MOUNTER, "--duration", "1s", "--force")
    assert (forced.returncode, "has no server" in forced.stderr) == (3, True)
