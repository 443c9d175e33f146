"""Runs all measurements on one rig, and writes the result files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from e2e.demo import diagnostics, table
from e2e.demo.api import Api, connect
from e2e.demo.environment import RigEnvironment
from e2e.demo.errors import DemoError
from e2e.demo.install import apply, install, operator_pods
from e2e.demo.journal import Journal, cluster_views
from e2e.demo.manifests import OPERATOR_NAMESPACE
from e2e.demo.objects import name_of
from e2e.demo.pod_process import cpu_seconds_of, memory_of
from e2e.demo.sample import Sample, remove, with_mark
from e2e.demo.screen import Screen
from e2e.demo.speed import AuditReader
from e2e.demo.waiting import until_condition
from e2e.measure import bring_up, concurrent_clusters, report
from e2e.measure.bring_up import READY_SECONDS, Bench
from e2e.measure.report import Machine, Results


@dataclass(frozen=True, slots=True)
class Options:
    """The parameters: number of runs, idle seconds, and the result folder."""

    runs: int
    quiet: float
    output: Path


def measure(environment: RigEnvironment, screen: Screen, options: Options) -> None:
    """Measure and write the results. Raises DemoError, RigError, ApiError, OSError."""
    with screen.step("A node and the operator"):
        environment.up(screen)
        installation = environment.image(screen)
    with connect(environment.kubectl) as api:
        with screen.step("The operator: two replicas, one leader"):
            install(environment.kubectl, api, installation, screen)
        sample = Sample.load()
        bench = Bench(environment.kubectl, api, screen, AuditReader(environment.audit_log), sample)
        results = Results(_machine(api, sample), options.quiet)
        with _show_diagnostics(bench):
            _bring_ups(bench, results, options.runs)
            _concurrent_clusters(bench, results, options.quiet)
        with screen.step("Cleanup"):
            concurrent_clusters.delete_clusters(bench)
            remove(environment.kubectl, api, sample.home, sample.name, screen)
    _write(results, screen, options.output)


@contextmanager
def _show_diagnostics(bench: Bench) -> Iterator[None]:
    try:
        yield
    except DemoError:
        bench.screen.waiting("")
        home, name = bench.sample.home, bench.sample.name
        diagnostics.show(bench.kubectl, bench.api, home, name, bench.screen)
        raise


def _bring_ups(bench: Bench, results: Results, runs: int) -> None:
    sample, screen = bench.sample, bench.screen
    for number in range(1, runs + 1):
        with screen.step(f"Three servers by the operator, {number} of {runs}"):
            before = _cpu_seconds(bench)
            run, script = bring_up.with_operator(bench)
            results.cpu_seconds += _cpu_seconds(bench) - before
            screen.say(f"Available after {report.available(run):.1f} s")
            results.runs.append(run)
        with screen.step("Cleanup before the next run"):
            remove(bench.kubectl, bench.api, sample.home, sample.name, screen)
        with screen.step(f"The same without an operator, {number} of {runs}"):
            marks = bring_up.without_operator(bench, script)
            screen.say(f"all Ready after {report.all_ready(marks):.1f} s")
            results.without_operator.append(marks)


def _concurrent_clusters(bench: Bench, results: Results, quiet: float) -> None:
    sample, screen = bench.sample, bench.screen
    with screen.step(f"{concurrent_clusters.CLUSTERS} one-server clusters together"):
        before = _cpu_seconds(bench)
        results.concurrent = concurrent_clusters.create_clusters(bench)
        results.cpu_seconds += _cpu_seconds(bench) - before
    with screen.step("Three more servers"), _sample(bench) as journal:
        until_condition(journal, screen, sample.name, "RaftMembershipReady", READY_SECONDS)
    with screen.step("Idle operator"):
        results.quiet = concurrent_clusters.quiet(bench, quiet)
    results.memory = [
        memory_of(bench.kubectl, OPERATOR_NAMESPACE, name_of(pod))
        for pod in operator_pods(bench.api)
    ]


def _cpu_seconds(bench: Bench) -> float:
    """Return the CPU time of all operator pods."""
    names = [name_of(pod) for pod in operator_pods(bench.api)]
    return sum(cpu_seconds_of(bench.kubectl, OPERATOR_NAMESPACE, name) for name in names)


@contextmanager
def _sample(bench: Bench) -> Iterator[Journal]:
    with Journal(bench.api, cluster_views(bench.sample.home)) as journal:
        apply(bench.kubectl, [bench.sample.account, with_mark(bench.sample.cluster)])
        yield journal


def _machine(api: Api, sample: Sample) -> Machine:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        when=datetime.now(UTC).date().isoformat(),
        cores=os.cpu_count() or 0,
        memory_gib=pages / 2**30,
        kubernetes=str(api.get("/version")["gitVersion"]),
        openbao=str(sample.cluster["spec"]["version"]),
    )


def _write(results: Results, screen: Screen, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    (folder / "results.json").write_bytes(orjson.dumps(report.as_json(results), option=options))
    (folder / "results.md").write_text(report.markdown(results))
    screen.heading("Results")
    rows = report.summary_rows(results)
    screen.plain(table.plain(("what", "measured", "budget"), rows))
    screen.plain()
    milestones = report.milestone_rows(results)
    screen.plain(table.plain(("since the apply", "no operator", "operator"), milestones))
    screen.plain()
    screen.plain(f"  {folder}/results.json and results.md")
