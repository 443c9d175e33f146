"""Every verb of `kubectl bao` that works on a cluster, called on a real one, one after another.

`UPDATE_SESSIONS=1` writes docs/cli-sessions.md. Without it the page is compared with the current
output: the same commands, exit statuses and lines, except for the parts in `sessions.PATTERNS`.
"""

import difflib
import os
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest

from baoctl.cli import main
from contracts.api.group import BACKUPS, CLUSTERS
from e2e.cli.sessions import Session, page, read
from e2e.conftest import sweep
from e2e.harness.backups import SELDOM
from e2e.harness.clusters import Cluster
from e2e.harness.command_line import CommandLine
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api, Object
from e2e.harness.manifests import STEADFAST, client_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Launcher, Operator
from e2e.harness.waiting import until
from e2e.rig import Rig
from e2e.rig.paths import REPOSITORY
from e2e.rig.versions import OPENBAO, OPENBAO_PREVIOUS
from e2e.start_up.__main__ import verbs
from runtime.builtin_kinds import PVC

PAGE = REPOSITORY / "docs" / "cli-sessions.md"
NAMESPACE, NAME, CLAIM = "vault", "bao", "snapshots"
SERVERS = 3
READY_SECONDS = 180.0
HEAD = """\
<!-- Written by `UPDATE_SESSIONS=1 make e2e SCENARIO=cli`. Do not edit. -->

# Sessions of the command line

The output of the verbs of [the command line](cli.md) for one cluster of three servers on a real
node. `make e2e SCENARIO=cli` runs all commands again, and fails if the output differs from this
page. The namespace of the context is `vault`. An exit status other than 0 is below the output;
`...` replaces omitted lines. `version` does not know the operator, because it does not run in a
Deployment here.
"""
# Verbs that this scenario does not call, and where they run instead.
ELSEWHERE = {
    "bench": "e2e/cli/test_bench.py",
    "bundle": "e2e/cli/test_bundle.py",
    "completion": "tests/baoctl/test_cli.py",
    "datacenter get": "e2e/datacenter",
    "datacenter redeploy": "e2e/datacenter",
    "datacenter status": "e2e/datacenter",
    "job": "for pods",
    "login": "e2e/cli/test_login.py",
    "provision": "for pods",
    "run": "for pods",
    "upgrade cleanup": "e2e/upgrade_bluegreen",
    "upgrade promote": "the same order as promote",
    "upgrade rollback": "e2e/upgrade_bluegreen",
}
pytestmark = pytest.mark.timeout(900)


@dataclass(slots=True)
class SessionRecorder:
    """Calls verbs one after the other, and keeps their output."""

    cluster: Cluster
    cli: CommandLine
    title: str = ""
    sessions: list[Session] = field(default_factory=list)

    def call_verb(
        self, words: str, *, status: int = 0, lines: int = 0, text: str | None = None
    ) -> str:
        """Call a verb, which must end with `status`; the page shows `lines` lines, or all if 0.

        `text` is its standard input.
        """
        answer = self.cli.run(*shlex.split(words), input=text)
        assert answer.status == status, f"{words}: {answer}"
        shown = (answer.out + answer.err).rstrip().splitlines()
        if lines and len(shown) > lines:
            shown = [*shown[:lines], "..."]
        self.sessions.append(Session(self.title, words, tuple(shown), status))
        return answer.out

    def await_ready(self) -> None:
        """Wait until all servers are ready and the operator has nothing left to do."""
        self.cluster.await_available(READY_SECONDS)
        self.cluster.await_condition(
            "RaftMembershipReady", reason="AllVoters", seconds=READY_SECONDS
        )
        until("doctor exits with 0", lambda: self.cli.run("doctor", NAME).status == 0, 60.0)


@pytest.fixture(scope="module")
def operator(rig: Rig, launcher: Launcher, controller: Identity) -> Operator:
    """An operator that holds the Lease: without one, doctor reports that first."""
    image = {"OPERATOR_IMAGE": rig.load_operator_image()}
    started = launcher.start(controller, environment=image)
    started.await_leading()
    return started


@pytest.fixture(scope="module")
def recorder(
    rig: Rig, api: Api, operator: Operator, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SessionRecorder]:
    rig.load_openbao([OPENBAO_PREVIOUS])
    api.make_namespace(NAMESPACE)
    try:
        yield create_cluster(rig, api, tmp_path_factory.mktemp("kubeconfig"))
    finally:
        sweep(api, NAMESPACE)


def create_cluster(rig: Rig, api: Api, folder: Path) -> SessionRecorder:
    """Create the cluster, and wait until it is ready."""
    api.create(PVC, claim())
    backup = {
        "schedule": SELDOM,
        "target": {"provider": "pvc", "bucket": "bao", "pvc": {"claimName": CLAIM}},
    }
    login = self_init(key_value_engine(), *client_login(NAMESPACE))
    spec = {
        "version": OPENBAO_PREVIOUS,
        "replicas": SERVERS,
        "configuration": STEADFAST,
        "selfInit": login,
        "backup": backup,
    }
    api.create(CLUSTERS, manifest(NAMESPACE, NAME, **spec))
    recorder = SessionRecorder(
        Cluster(api, NAMESPACE, NAME),
        CommandLine(rig, in_namespace(rig, folder)),
    )
    recorder.await_ready()
    return recorder


def claim() -> Object:
    """A volume for snapshots."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "64Mi"}}}
    return {"metadata": {"name": CLAIM, "namespace": NAMESPACE}, "spec": spec}


def in_namespace(rig: Rig, folder: Path) -> Path:
    """Return a kubeconfig whose context names the namespace, so that no verb needs -n."""
    config = orjson.loads(rig.kubeconfig.read_bytes())
    for context in config["contexts"]:
        context["context"]["namespace"] = NAMESPACE
    path = folder / "kubeconfig"
    path.write_bytes(orjson.dumps(config))
    return path


def inspect(recorder: SessionRecorder) -> None:
    recorder.title = "Inspect a cluster"
    recorder.call_verb("status")
    recorder.call_verb(f"status {NAME}")
    recorder.call_verb(f"status {NAME} -o wide")
    recorder.call_verb(f"doctor {NAME}")
    recorder.call_verb(f"tree {NAME}")
    recorder.call_verb(f"events {NAME}", lines=1)
    recorder.call_verb("version")
    recorder.call_verb("status nosuch", status=5)


def explain(recorder: SessionRecorder) -> None:
    recorder.title = "Explain"
    recorder.call_verb("explain conditions Ready", lines=20)
    recorder.call_verb("explain reasons UnsealKeyMissing")
    recorder.call_verb("explain steps", lines=12)


def offline(recorder: SessionRecorder) -> None:
    recorder.title = "Render and convert manifests"
    recorder.call_verb("render -f config/samples/quickstart.yaml", lines=15)
    recorder.call_verb("migrate -f config/samples/development.yaml", lines=8)


def pause(recorder: SessionRecorder) -> None:
    recorder.title = "Pause"
    recorder.call_verb(f"pause {NAME} --dry-run")
    recorder.call_verb(f"pause {NAME}")
    recorder.cluster.await_condition("Paused")
    recorder.call_verb(f"status {NAME}", status=3)
    recorder.call_verb(f"doctor {NAME}", status=3)
    recorder.call_verb(f"resume {NAME}")
    recorder.await_ready()
    recorder.call_verb(f"resume {NAME}")


def fence(recorder: SessionRecorder) -> None:
    recorder.title = "Fence a server"
    leader = recorder.cluster.leader()
    assert leader is not None
    victim = next(
        name
        for pod in recorder.cluster.pods()
        if (name := pod["metadata"]["name"]) != leader["metadata"]["name"]
    )
    recorder.call_verb(f"fence {victim}")
    recorder.cluster.await_condition("PodsFenced", reason="PodsFenced", seconds=READY_SECONDS)
    recorder.call_verb(f"status {NAME}", status=3)
    recorder.call_verb(f"unfence {victim}")


def preview(recorder: SessionRecorder) -> None:
    recorder.title = "Preview an edit"
    live = recorder.cluster.live()
    spec = {**live["spec"], "replicas": 5, "configuration": {"logLevel": "debug"}}
    body = {"metadata": {"name": NAME}, "spec": spec}
    body |= {key: live[key] for key in ("apiVersion", "kind")}
    recorder.call_verb("plan -f -", text=orjson.dumps(body).decode())
    body["spec"] = {**spec, "replica": 5}
    recorder.call_verb("plan -f -", text=orjson.dumps(body).decode(), status=4)


def back_up(recorder: SessionRecorder) -> None:
    recorder.title = "Back up and restore"
    recorder.call_verb(f"backup {NAME}")
    (snapshot,) = recorder.cluster.api.list(BACKUPS, NAMESPACE)
    recorder.call_verb(f"restore {NAME} --from {snapshot['metadata']['name']} --dry-run")
    recorder.call_verb(f"restore {NAME} --from nosuch --yes", status=5)


def rotate(recorder: SessionRecorder) -> None:
    recorder.title = "Rotate keys"
    recorder.call_verb(f"rotate ca {NAME} --dry-run")
    recorder.call_verb(f"rotate unseal-key {NAME} --dry-run")


def upgrade(recorder: SessionRecorder) -> None:
    recorder.title = "Upgrade"
    recorder.call_verb(f"upgrade plan {NAME} --to {OPENBAO}")
    recorder.call_verb(f"upgrade plan {NAME} --to 2.4.0", status=4)
    recorder.call_verb(f"upgrade start {NAME} --to 2.4.0", status=4)
    recorder.call_verb(f"upgrade start {NAME} --to {OPENBAO} --dry-run")
    recorder.call_verb(f"promote {NAME}", status=4)
    recorder.call_verb(f"upgrade retry {NAME}", status=4)


def restart(recorder: SessionRecorder) -> None:
    """Not waited for: e2e/restart replaces servers, and the next part stops all of them."""
    recorder.title = "Restart"
    recorder.call_verb(f"restart {NAME}")


def hibernate(recorder: SessionRecorder) -> None:
    recorder.title = "Hibernate"
    recorder.call_verb(f"hibernate {NAME} --yes")
    recorder.cluster.await_condition("Hibernated", seconds=READY_SECONDS)
    recorder.call_verb(f"status {NAME}", status=3)
    recorder.call_verb(f"wake {NAME}")
    recorder.await_ready()
    # Neither the fence nor an unfinished restart lasts.
    assert len(recorder.cluster.ready_pods()) == SERVERS
    recorder.call_verb("status")


PARTS: tuple[Callable[[SessionRecorder], None], ...] = (
    inspect,
    explain,
    offline,
    upgrade,
    preview,
    back_up,
    rotate,
    pause,
    fence,
    restart,
    hibernate,
)


def test_the_page_shows_what_the_verbs_print(recorder: SessionRecorder) -> None:
    for part in PARTS:
        part(recorder)
    if os.environ.get("UPDATE_SESSIONS"):
        PAGE.write_text(page(HEAD, recorder.sessions), encoding="utf-8")
    kept = list(read(PAGE.read_text(encoding="utf-8")))
    before, now = (
        [line for session in sessions for line in session.normal()]
        for sessions in (kept, recorder.sessions)
    )
    assert not (changes := list(difflib.unified_diff(before, now))), "\n".join(changes)


def test_every_verb_has_a_session_or_runs_elsewhere() -> None:
    kept = [session.words for session in read(PAGE.read_text(encoding="utf-8"))]
    missing = [
        verb
        for verb, _ in verbs(main)
        if verb not in ELSEWHERE and not any(f"{words} ".startswith(f"{verb} ") for words in kept)
    ]
    assert not missing
