"""The steps of the demo."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

from e2e.demo import speed, table
from e2e.demo.api import Api
from e2e.demo.bao import OpenBao
from e2e.demo.data_check import DataCheck
from e2e.demo.environment import Environment
from e2e.demo.errors import DemoError
from e2e.demo.frame import operator_in, print_commands, print_durations
from e2e.demo.install import apply, leader, operator_pods
from e2e.demo.journal import Journal, cluster_views
from e2e.demo.manifests import OPERATOR_NAMESPACE
from e2e.demo.objects import name_of
from e2e.demo.pod_process import Memory, memory_of
from e2e.demo.sample import SAMPLE, Sample, prepare_namespace, remove, with_mark
from e2e.demo.screen import Screen, duration
from e2e.demo.timeline import Milestone, bring_up, creation_time, seconds_to
from e2e.demo.waiting import until_condition

AVAILABLE_SECONDS = 300.0
VOTERS_SECONDS = 120.0


@dataclass(slots=True)
class Numbers:
    """The measured values."""

    milestones: list[Milestone] = field(default_factory=list)
    requests: list[table.Row] = field(default_factory=list)
    memory: list[Memory] = field(default_factory=list)


def run(environment: Environment, screen: Screen, quiet: float) -> None:
    """Run the demo. Raises DemoError, RigError, ApiError, OSError."""
    with operator_in(environment, screen, "a demo") as (api, sample):
        Steps(environment, screen, api, sample).run(quiet)


@dataclass(slots=True)
class Steps:
    """The steps after the installation of the operator."""

    environment: Environment
    screen: Screen
    api: Api
    sample: Sample
    numbers: Numbers = field(default_factory=Numbers)

    def run(self, quiet: float) -> None:
        """Run the steps and print the results. Raises DemoError, ApiError, OSError."""
        sample, screen, kubectl = self.sample, self.screen, self.environment.kubectl
        with screen.step("Clean up"):
            prepare_namespace(kubectl, self.api, sample.namespace)
            if not remove(kubectl, self.api, sample.home, sample.name, screen):
                screen.say("no objects of an earlier demo")
        reader = speed.AuditReader(self.environment.audit_log)
        with Journal(self.api, cluster_views(sample.home)) as journal:
            self._bring_up(journal, reader)
            self._check_data(journal)
        if quiet > 0:
            self._idle(reader, quiet)
        self._memory()
        self._results()

    def _bring_up(self, journal: Journal, reader: speed.AuditReader) -> None:
        sample, screen = self.sample, self.screen
        since = datetime.now(UTC)
        title = f"{sample.replicas} servers, from apply to Available ({SAMPLE.name})"
        with screen.step(title):
            apply(self.environment.kubectl, [sample.account, with_mark(sample.cluster)])
            until_condition(journal, screen, sample.name, "Available", AVAILABLE_SECONDS)
        until = datetime.now(UTC)
        with screen.step("All servers are voters"):
            until_condition(journal, screen, sample.name, "RaftMembershipReady", VOTERS_SECONDS)
        settled = datetime.now(UTC)
        entries = journal.entries()
        start = creation_time(entries, sample.name)
        if start is None:
            raise DemoError(f"cluster {sample.name} was never observed")
        self.numbers.milestones = bring_up(entries, sample.name, sample.replicas, start)
        self._count(reader, "from apply to Available", since, until)
        self._count(reader, "until all servers are voters", until, settled)

    def _check_data(self, journal: Journal) -> None:
        sample, screen = self.sample, self.screen
        access = self.environment.access(self.api)
        bao = OpenBao.of_cluster(access, self.api, sample.home, sample.name)
        check = DataCheck(sample, self.environment.kubectl, journal, screen, bao)
        with screen.step("An application writes a secret"):
            value = check.write_secret()
        with screen.step("Kill the leader"):
            check.kill_leader(value)
        with screen.step("Recovery"):
            check.await_recovery()

    def _idle(self, reader: speed.AuditReader, seconds: float) -> None:
        since = datetime.now(UTC)
        if reader.log is None:
            return
        with self.screen.step(f"{duration(seconds)} of quiet"):
            end = time.monotonic() + seconds
            while (left := end - time.monotonic()) > 0:
                self.screen.waiting("the operator should be idle")
                time.sleep(min(left, 1.0))
            self.screen.waiting("")
        self._count(reader, f"in {duration(seconds)} of quiet", since, datetime.now(UTC))

    def _count(
        self, reader: speed.AuditReader, name: str, since: datetime, until: datetime
    ) -> None:
        counts = reader.tally(since, until)
        if counts is not None:
            self.numbers.requests.append(speed.request_row(name, counts))

    def _memory(self) -> None:
        try:
            pods = [
                memory_of(self.environment.kubectl, OPERATOR_NAMESPACE, name_of(pod))
                for pod in operator_pods(self.api)
            ]
        except (DemoError, KeyError) as error:
            self.screen.say(f"the memory of the operator could not be read: {error}")
            return
        first = leader(self.api)
        self.numbers.memory = sorted(pods, key=lambda pod_memory: pod_memory.pod != first)

    def _results(self) -> None:
        screen, numbers = self.screen, self.numbers
        screen.heading("Objects")
        kinds = "openbaocluster,pods,svc,pvc"
        screen.plain(self.environment.kubectl("get", kinds, "-n", self.sample.home).rstrip())
        print_durations(screen)
        screen.heading("Speed and memory")
        screen.plain(
            table.plain(("since the apply", "reached"), speed.milestone_rows(numbers.milestones))
        )
        screen.plain()
        if numbers.requests:
            screen.plain(speed.requests_table(numbers.requests))
            screen.plain("  (without Lease renewals; make measure has detailed figures)")
        else:
            screen.plain("  API requests: not counted, the audit log is not accessible")
        if numbers.memory:
            screen.plain()
            rows3 = speed.memory_rows(numbers.memory)
            screen.plain(table.plain(("operator pod", "resident", "at most"), rows3))
        self._print_next_steps()

    def _print_next_steps(self) -> None:
        screen, home, name = self.screen, self.sample.home, self.sample.name
        lines = [
            *self.environment.environment_lines(),
            f"kubectl -n {home} get openbaocluster {name} -o yaml      # read the conditions",
            f"kubectl -n {home} delete service {name}-public           # it is recreated",
            f"kubectl -n {OPERATOR_NAMESPACE} logs deployment/openbao-operator --all-pods -f",
        ]
        print_commands(screen, "Next steps", lines)
        print_commands(screen, "Clean up afterwards", self.environment.stop_lines(home, name))
        available = seconds_to(self.numbers.milestones, "Available")
        took = f"Available after {duration(available)}, " if available is not None else ""
        screen.heading(f"Succeeded: {took}everything in {duration(screen.elapsed)}.")
