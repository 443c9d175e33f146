"""`kubectl bao login` on a real cluster: a command and a shell with a login, and their cleanup.

The client is the official `bao`, which reads address, CA, server name and token from its
environment only.
"""

import fcntl
import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.conftest import MakeNamespace
from e2e.harness.bao import BaoError
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import SECRETS, account_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.waiting import until
from e2e.rig import Rig, images
from e2e.rig.paths import REPOSITORY
from e2e.rig.versions import OPENBAO
from runtime.builtin_kinds import ROLE, ROLE_BINDING, SERVICE_ACCOUNT

NAME, ACCOUNT = "door", "app"
SECONDS = 60.0
# Writes what a command received from its session, for the test.
KEEP = (
    "import json, os, pathlib, sys; pathlib.Path(sys.argv[1]).write_text(json.dumps("
    "{**{k: v for k, v in os.environ.items() if k.startswith(('BAO_', 'VAULT_'))},"
    " 'pid': str(os.getpid())}))"
)
WAIT = f"{KEEP}; import signal; signal.pause()"


@dataclass(frozen=True, slots=True)
class Traces:
    """The environment of a session, as its command wrote it."""

    environ: dict[str, str]

    @property
    def folder(self) -> Path:
        return Path(self.environ["BAO_CACERT"]).parent

    @property
    def port(self) -> int:
        return int(self.environ["BAO_ADDR"].rpartition(":")[2])

    def remaining_parts(self, cluster: Cluster) -> list[str]:
        """Name the parts of the session that still exist."""
        calls = []
        if self.folder.exists():
            calls.append(f"the folder {self.folder}")
        with socket.socket() as probe:
            probe.settimeout(2.0)
            if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                calls.append(f"the port-forward at {self.port}")
        if is_alive(int(self.environ["pid"])):
            calls.append("the command")
        try:
            cluster.server().get("auth/token/lookup-self", self.environ["BAO_TOKEN"])
            calls.append("the token")
        except BaoError as error:
            if error.code != 403:
                raise
        return calls


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module")
def cluster(api: Api, make_namespace: MakeNamespace, operator: Operator) -> Cluster:
    """One server, with a secrets engine and a login for a ServiceAccount that may use it."""
    namespace = make_namespace()
    api.create(SERVICE_ACCOUNT, {"metadata": {"name": ACCOUNT, "namespace": namespace}})
    policy = f'path "{SECRETS}/*" {{ capabilities = ["create", "read", "update"] }}'
    cluster = Cluster(api, namespace, NAME)
    login = account_login(cluster.audience, namespace, ACCOUNT, policy)
    requests = (key_value_engine(), *login)
    api.create(CLUSTERS, manifest(namespace, NAME, selfInit=self_init(*requests)))
    cluster.await_available()
    return cluster


@pytest.fixture(scope="module")
def bao(rig: Rig) -> str:
    """The official client."""
    return str(images.openbao_binary(rig.cache, OPENBAO, rig.progress))


def arguments(cluster: Cluster, *words: str) -> list[str]:
    return [
        sys.executable, "-m", "baoctl", "login", NAME, "-n", cluster.namespace,
        "--service-account", ACCOUNT, *words,
    ]  # fmt: skip


def login(
    cluster: Cluster, *words: str, kubeconfig: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a session to its end."""
    chosen = {"KUBECONFIG": str(kubeconfig)} if kubeconfig else {}
    # Variables of another server in the shell of a user.
    other = {"VAULT_TOKEN": "other", "BAO_ADDR": "https://192.0.2.1", "BAO_SKIP_VERIFY": "true"}
    return subprocess.run(
        arguments(cluster, *words),
        cwd=REPOSITORY,
        env={**cluster.api.rig.environment(), **other, **chosen},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


def traces(file: Path) -> Traces | None:
    try:
        return Traces(json.loads(file.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):
        return None


def test_a_command_reads_a_secret_and_nothing_is_left(
    cluster: Cluster, bao: str, tmp_path: Path
) -> None:
    written = login(cluster, "--", bao, "write", f"{SECRETS}/greeting", "text=hello")
    assert written.returncode == 0, written.stderr
    read = login(cluster, "--", bao, "read", "-field=text", f"{SECRETS}/greeting")
    assert (read.returncode, read.stdout) == (0, "hello"), read.stderr

    file = tmp_path / "kept"
    kept = login(cluster, "--", sys.executable, "-c", KEEP, str(file))
    assert kept.returncode == 0, kept.stderr
    session = traces(file)
    assert session is not None
    assert set(session.environ) == {
        "BAO_ADDR", "BAO_CACERT", "BAO_TLS_SERVER_NAME", "BAO_TOKEN", "pid",
    }  # fmt: skip
    assert session.remaining_parts(cluster) == []
    assert session.environ["BAO_TOKEN"] not in kept.stdout + kept.stderr


def test_the_exit_status_is_that_of_the_command(cluster: Cluster) -> None:
    assert login(cluster, "--", "sh", "-c", "exit 7").returncode == 7
    assert login(cluster, "--", "sh", "-c", "kill -9 $$").returncode == 137


@contextmanager
def run_session(
    cluster: Cluster, file: Path, *words: str, terminal: int | None = None, **environ: str
) -> Iterator[tuple[subprocess.Popen[bytes], Traces]]:
    """A session whose command waits forever, in a separate terminal or in none."""
    process = subprocess.Popen(
        arguments(cluster, *words),
        cwd=REPOSITORY,
        env={**cluster.api.rig.environment(), **environ},
        stdin=subprocess.DEVNULL if terminal is None else terminal,
        stdout=subprocess.PIPE if terminal is None else terminal,
        stderr=subprocess.STDOUT,
        start_new_session=terminal is not None,
        preexec_fn=None if terminal is None else _control_terminal,
    )
    try:
        yield process, until("the command runs", lambda: traces(file), SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _control_terminal() -> None:
    """Let Ctrl-C in the terminal at standard input reach this session."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGHUP], ids=lambda signal_: signal_.name
)
def test_a_signal_ends_the_session_and_leaves_nothing(
    cluster: Cluster, tmp_path: Path, number: signal.Signals
) -> None:
    file = tmp_path / "kept"
    words = ("--", sys.executable, "-c", WAIT, str(file))
    with run_session(cluster, file, *words) as (process, session):
        assert len(session.remaining_parts(cluster)) == 4, "all parts exist while the command runs"
        assert oct(session.folder.stat().st_mode & 0o777) == "0o700"
        process.send_signal(number)
        output, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == 128 + number, output
        assert session.remaining_parts(cluster) == []
        assert session.environ["BAO_TOKEN"].encode() not in output


def test_an_interactive_shell_ends_with_the_session(cluster: Cluster, tmp_path: Path) -> None:
    """An interactive bash ignores SIGTERM; Ctrl-C ends the command in it, and not the session."""
    file = tmp_path / "kept"
    ours, theirs = pty.openpty()
    command = f"{sys.executable} -c '{KEEP.replace(chr(39), chr(34))}' {file}\n"
    os.write(ours, command.encode())
    with run_session(cluster, file, terminal=theirs, SHELL="/bin/bash") as (process, session):
        # In one process: bash prints before it hands over the terminal, and Ctrl-C would then have
        # no effect.
        os.write(ours, b"sh -c 'echo sleeps-$((1 + 1)); exec sleep 600'\n")
        read_until(ours, b"sleeps-2")
        # Only now: Ctrl-C discards typed input that is not read yet.
        os.write(ours, b"\x03")
        read_until(ours, b"^C")
        os.write(ours, b"echo still-$((40 + 2))\n")
        read_until(ours, b"still-42")
        assert process.poll() is None
        process.terminate()
        assert process.wait(timeout=SECONDS) == 128 + signal.SIGTERM
        assert session.remaining_parts(cluster) == []
    os.close(theirs)
    os.close(ours)


def read_until(terminal: int, text: bytes) -> None:
    """Read a terminal until a text appears."""
    output, end = b"", time.monotonic() + SECONDS
    while text not in output:
        ready, _, _ = select.select([terminal], [], [], max(0.0, end - time.monotonic()))
        assert ready, f"{text!r} did not appear: {output!r}"
        output += os.read(terminal, 4096)


def test_a_refused_login_is_one_line_with_the_next_step(cluster: Cluster) -> None:
    refused = login(cluster, "--role", "none", "--", "true")
    assert refused.returncode == 4
    assert refused.stderr.count("\n") == 1
    assert "auth/jwt-operator/login answered 400" in refused.stderr
    assert "check --role" in refused.stderr
    missing = login(cluster, "--service-account", "nobody", "--", "true")
    assert (missing.returncode, "--service-account" in missing.stderr) == (5, True)


STEPS = (
    ({"apiGroups": [""], "resources": ["secrets", "pods"], "verbs": ["get", "list"]}, "token"),
    (
        {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]},
        "pods/portforward",
    ),
    ({"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["get", "create"]}, ""),
)


def test_each_missing_right_is_named(cluster: Cluster, api: Api, tmp_path: Path) -> None:
    namespace, user = cluster.namespace, "person"
    metadata = {"name": user, "namespace": namespace}
    api.create(SERVICE_ACCOUNT, {"metadata": metadata})
    kubeconfig = as_user(api, namespace, user, tmp_path)
    rules: list[Object] = [
        {"apiGroups": ["openbao.org"], "resources": ["openbaoclusters"], "verbs": ["get"]}
    ]
    api.create(ROLE, {"metadata": metadata, "rules": rules})
    reference = {"apiGroup": ROLE.group, "kind": "Role", "name": user}
    subject = {"kind": "ServiceAccount", **metadata}
    api.create(ROLE_BINDING, {"metadata": metadata, "roleRef": reference, "subjects": [subject]})
    for rule, missing in STEPS:
        rules.append(rule)
        api.patch(ROLE, namespace, user, {"rules": rules})

        def attempt(expected: str = missing) -> bool:
            """The authorizer sees a changed Role with a delay."""
            done = login(cluster, "--", "true", kubeconfig=kubeconfig)
            if not expected:
                return done.returncode == 0
            assert done.stderr.count("\n") == 1
            return done.returncode == 6 and expected in done.stderr

        until(f"the user lacks {missing or 'nothing'}", attempt, 30.0)


def as_user(api: Api, namespace: str, account: str, folder: Path) -> Path:
    """Write the kubeconfig of a ServiceAccount."""
    config = orjson.loads(api.rig.kubeconfig.read_bytes())
    config["users"] = [{"name": account, "user": {"token": api.token(namespace, account)}}]
    config["contexts"] = [
        {"name": "it", "context": {"cluster": config["clusters"][0]["name"], "user": account}}
    ]
    config["current-context"] = "it"
    path = folder / "person.kubeconfig"
    path.write_bytes(orjson.dumps(config))
    return path


def test_the_server_name_is_that_of_the_certificate(cluster: Cluster) -> None:
    shown = login(cluster, "--", "printenv", "BAO_TLS_SERVER_NAME")
    assert shown.stdout.strip() == names.raft_server_name(NAME)
