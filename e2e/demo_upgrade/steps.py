"""The steps of the upgrade demo."""

from dataclasses import dataclass
from datetime import UTC, datetime

from contracts.naming import labels
from e2e.demo import audit, speed, table
from e2e.demo.api import Api
from e2e.demo.environment import RigEnvironment
from e2e.demo.errors import DemoError
from e2e.demo.frame import operator_in, print_commands, print_durations
from e2e.demo.install import apply
from e2e.demo.journal import Journal, Moment, View, cluster_views
from e2e.demo.objects import Object, condition, labels_of
from e2e.demo.sample import Sample, prepare_namespace, remove, with_mark
from e2e.demo.screen import Screen, duration
from e2e.demo.waiting import WaitLimit, cluster_pods, until_condition
from e2e.demo_upgrade.tree import tree
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api as Administrator
from e2e.harness.manifests import CLIENT, STEADY, client_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.service_writer import ServiceWriter
from e2e.harness.upgrade_history import CLUSTERS, JOBS, History, is_complete, is_server
from e2e.harness.upgrades import change
from e2e.harness.writing import may_write
from e2e.rig import Rig
from e2e.rig.versions import OPENBAO, OPENBAO_PREVIOUS
from runtime.builtin_kinds import SERVICE_ACCOUNT

FROM, TO = OPENBAO_PREVIOUS, OPENBAO
AVAILABLE_SECONDS = 300.0
UPGRADE_SECONDS = 300.0
KEPT_SECONDS = 5
"""For how long the blue servers are kept after the green ones have the leader."""
_POLL_SECONDS = 0.25


def run(rig: Rig, screen: Screen, strategy: str) -> None:
    """Run the demo. Raises the errors of e2e.demo."""
    environment = RigEnvironment(rig)
    with operator_in(environment, screen, "a demo of an upgrade") as (api, sample):
        with screen.step("The OpenBao images"):
            rig.load_openbao((FROM, TO))
        Steps(environment, screen, api, _with_client_login(sample, strategy)).run()


def _with_client_login(sample: Sample, strategy: str) -> Sample:
    """Return the sample, with a login for the writing client."""
    kept = {"autoRollback": {"stabilizationSeconds": KEPT_SECONDS}}
    upgrade = {"strategy": strategy, **({"blueGreen": kept} if strategy == "BlueGreen" else {})}
    requests = (key_value_engine(), *client_login(sample.home))
    fields = {"replicas": 3, "configuration": STEADY, "selfInit": self_init(*requests)}
    fields["upgrade"] = upgrade
    cluster = manifest(sample.home, sample.name, **{**fields, "version": FROM})
    return Sample(sample.namespace, sample.account, cluster)


@dataclass(slots=True)
class Steps:
    """The steps after the installation of the operator."""

    environment: RigEnvironment
    screen: Screen
    api: Api
    sample: Sample

    def run(self) -> None:
        """Run the steps and print the figures. Raises DemoError, ApiError, OSError."""
        sample, screen, kubectl = self.sample, self.screen, self.environment.kubectl
        with screen.step("Clean up"):
            prepare_namespace(kubectl, self.api, sample.namespace)
            remove(kubectl, self.api, sample.home, sample.name, screen)
        cluster = Cluster(Administrator(self.environment.rig), sample.home, sample.name)
        jobs = View(JOBS, f"/apis/batch/v1/namespaces/{sample.home}/jobs")
        with Journal(self.api, (*cluster_views(sample.home), jobs)) as journal:
            with screen.step(f"{sample.replicas} servers of {FROM}"):
                apply(kubectl, [with_mark(sample.cluster)])
                cluster.api.delete(SERVICE_ACCOUNT, sample.home, CLIENT)
                may_write(cluster)
                for kind in ("Available", "RaftMembershipReady"):
                    until_condition(journal, screen, sample.name, kind, AVAILABLE_SECONDS)
            reader = speed.AuditReader(self.environment.audit_log)
            with screen.step(f"From {FROM} to {TO}, while a client writes ten times a second"):
                self._upgrade(cluster, journal, reader)
        self._print_next_steps()

    def _upgrade(self, cluster: Cluster, journal: Journal, reader: speed.AuditReader) -> None:
        name, screen = self.sample.name, self.screen
        servers = [pod for pod in journal.alive("pods") if is_server(pod, name)]
        count, since = len(journal.entries()), datetime.now(UTC)
        with ServiceWriter(cluster, reads_back=True) as writer:
            screen.say(f"kubectl patch openbaocluster {name} ... version: {TO}")
            change(cluster, {"version": TO})
            self._draw(journal)
            until = datetime.now(UTC)
            until_condition(journal, screen, name, "RaftMembershipReady", AVAILABLE_SECONDS)
        history = History(name, servers, journal.entries()[count:])
        if lost := [*writer.lost(), *writer.missed]:
            raise DemoError(f"acknowledged writes were lost: {lost}")
        screen.say(f"{writer.describe()}; none was lost")
        self._costs(history, reader.tally(since, until))

    def _draw(self, journal: Journal) -> None:
        """Draw the tree whenever it changes, until the cluster has the version."""
        name, screen = self.sample.name, self.screen
        shown: list[str] = []
        limit = WaitLimit.of(UPGRADE_SECONDS)
        while True:
            cluster = journal.find(CLUSTERS, name)
            if cluster is not None:
                drawn = tree(cluster, cluster_pods(journal, name), self._jobs(journal))
                if drawn != shown:
                    shown = drawn
                    screen.say("\n".join(drawn))
                if is_complete(cluster, TO):
                    screen.waiting("")
                    return
            limit.check(cluster, f"at {TO}", _words(cluster))
            screen.waiting(_words(cluster))
            journal.wait(_POLL_SECONDS)

    def _jobs(self, journal: Journal) -> list[Object]:
        mine = labels.component(self.sample.name, "upgrade")
        return [job for job in journal.alive(JOBS) if mine.items() <= labels_of(job).items()]

    def _costs(self, history: History, tally: audit.Tally | None) -> None:
        screen = self.screen
        began = history.first(CLUSTERS, lambda cluster: cluster["spec"]["version"] == TO)
        ended = history.first(CLUSTERS, lambda cluster: is_complete(cluster, TO))
        if began is None or ended is None:
            raise DemoError("the upgrade was not observed")
        rows = [
            (life.name, _since(began, life.created_at), _since(began, life.ready_at))
            for life in history.lives() if life.created_at is not None
        ]  # fmt: skip
        screen.plain()
        screen.plain(table.plain(("new server", "created after", "ready after"), rows))
        screen.plain(f"  finished after {duration(ended - began)}")
        screen.plain(f"  leaders: {' > '.join(history.leaders())}")
        if tally is not None:
            screen.plain()
            screen.plain(speed.requests_table([speed.request_row("of the upgrade", tally)]))

    def _print_next_steps(self) -> None:
        screen, home, name = self.screen, self.sample.home, self.sample.name
        print_durations(screen)
        commands = (
            *self.environment.environment_lines(),
            f"kubectl -n {home} get openbaocluster {name} -o yaml   # status.release",
            f"kubectl -n {home} get jobs   # the Jobs of the upgrade",
        )
        print_commands(screen, "Next steps", commands)
        print_commands(screen, "Clean up afterwards", self.environment.stop_lines(home, name))
        screen.heading(f"Succeeded: {FROM} to {TO}, everything in {duration(screen.elapsed)}.")


def _words(cluster: Object | None) -> str:
    upgrading = None if cluster is None else condition(cluster, "Upgrading")
    return (
        str(upgrading["message"])
        if upgrading
        else "the operator has not observed the new version yet"
    )


def _since(began: Moment, moment: Moment | None) -> str:
    return "-" if moment is None else f"{moment - began:.1f} s"
