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
    "upgrade start": "tests/baoctl/commands/cluster/test_orders.py",
    "upgrade promote": "the same order as promote",
    "upgrade rollback": "e2e/upgrade_bluegreen",
}
pytestmark = pytest.mark.timeout(900)


@dataclass(slots=True)
class Story:
    """Calls verbs one after the other, and keeps their output."""

    cluster: Cluster
    cli: CommandLine
    title: str = ""
    sessions: list[Session] = field(default_factory=list)

    def play(self, words: str, *, status: int = 0, lines: int = 0, text: str | None = None) -> str:
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
def story(
    rig: Rig, api: Api, operator: Operator, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    rig.load_openbao([OPENBAO_PREVIOUS])
    api.make_namespace(NAMESPACE)
    try:
        yield begin(rig, api, tmp_path_factory.mktemp("kubeconfig"))
    finally:
        sweep(api, NAMESPACE)


def begin(rig: Rig, api: Api, folder: Path) -> Story:
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
    story = Story(
        Cluster(api, NAMESPACE, NAME),
        CommandLine(rig, in_namespace(rig, folder)),
    )
    story.await_ready()
    return story


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


def inspect(story: Story) -> None:
    story.title = "Inspect a cluster"
    story.play("status")
    story.play(f"status {NAME}")
    story.play(f"status {NAME} -o wide")
    story.play(f"doctor {NAME}")
    story.play(f"tree {NAME}")
    story.play(f"events {NAME}", lines=1)
    story.play("version")
    story.play("status nosuch", status=5)


def explain(story: Story) -> None:
    story.title = "Explain"
    story.play("explain conditions Ready", lines=20)
    story.play("explain reasons UnsealKeyMissing")
    story.play("explain steps", lines=12)


def offline(story: Story) -> None:
    story.title = "Render and convert manifests"
    story.play("render -f config/samples/quickstart.yaml", lines=15)
    story.play("migrate -f config/samples/development.yaml", lines=8)


def pause(story: Story) -> None:
    story.title = "Pause"
    story.play(f"pause {NAME} --dry-run")
    story.play(f"pause {NAME}")
    story.cluster.await_condition("Paused")
    story.play(f"status {NAME}", status=3)
    story.play(f"doctor {NAME}", status=3)
    story.play(f"resume {NAME}")
    story.await_ready()
    story.play(f"resume {NAME}")


def fence(story: Story) -> None:
    story.title = "Fence a server"
    leader = story.cluster.leader()
    assert leader is not None
    victim = next(
        name
        for pod in story.cluster.pods()
        if (name := pod["metadata"]["name"]) != leader["metadata"]["name"]
    )
    story.play(f"fence {victim}")
    story.cluster.await_condition("PodsFenced", reason="PodsFenced", seconds=READY_SECONDS)
    story.play(f"status {NAME}", status=3)
    story.play(f"unfence {victim}")


def preview(story: Story) -> None:
    story.title = "Preview an edit"
    live = story.cluster.live()
    spec = {**live["spec"], "replicas": 5, "configuration": {"logLevel": "debug"}}
    body = {"metadata": {"name": NAME}, "spec": spec}
    body |= {key: live[key] for key in ("apiVersion", "kind")}
    story.play("plan -f -", text=orjson.dumps(body).decode())
    body["spec"] = {**spec, "replica": 5}
    story.play("plan -f -", text=orjson.dumps(body).decode(), status=4)


def back_up(story: Story) -> None:
    story.title = "Back up and restore"
    story.play(f"backup {NAME}")
    (snapshot,) = story.cluster.api.list(BACKUPS, NAMESPACE)
    story.play(f"restore {NAME} --from {snapshot['metadata']['name']} --dry-run")
    story.play(f"restore {NAME} --from nosuch --yes", status=5)


def rotate(story: Story) -> None:
    story.title = "Rotate keys"
    story.play(f"rotate ca {NAME} --dry-run")
    story.play(f"rotate unseal-key {NAME} --dry-run")


def upgrade(story: Story) -> None:
    story.title = "Preview an upgrade"
    story.play(f"upgrade plan --cluster {NAME} --to {OPENBAO}")
    story.play(f"upgrade plan --cluster {NAME} --to 2.4.0", status=4)
    story.play(f"promote {NAME}", status=4)
    story.play(f"upgrade retry {NAME}", status=4)


def restart(story: Story) -> None:
    """Not waited for: e2e/restart replaces servers, and the next part stops all of them."""
    story.title = "Restart"
    story.play(f"restart {NAME}")


def hibernate(story: Story) -> None:
    story.title = "Hibernate"
    story.play(f"hibernate {NAME} --yes")
    story.cluster.await_condition("Hibernated", seconds=READY_SECONDS)
    story.play(f"status {NAME}", status=3)
    story.play(f"wake {NAME}")
    story.await_ready()
    # Neither the fence nor an unfinished restart lasts.
    assert len(story.cluster.ready_pods()) == SERVERS
    story.play("status")


PARTS: tuple[Callable[[Story], None], ...] = (
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


def test_the_page_shows_what_the_verbs_print(story: Story) -> None:
    for part in PARTS:
        part(story)
    if os.environ.get("UPDATE_SESSIONS"):
        PAGE.write_text(page(HEAD, story.sessions), encoding="utf-8")
    kept = list(read(PAGE.read_text(encoding="utf-8")))
    before, now = (
        [line for session in sessions for line in session.normal()]
        for sessions in (kept, story.sessions)
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
