"""The tables and files at the end of a measurement."""

import orjson
import pytest

from e2e.demo.audit import Tally
from e2e.demo.pod_process import Memory
from e2e.demo.timeline import Milestone
from e2e.measure import report
from e2e.measure.bring_up import OperatorRun
from e2e.measure.concurrent_clusters import ConcurrentRun
from e2e.measure.report import Machine, Results


def run(available: float, writes: int) -> OperatorRun:
    """A bring-up with that many writes."""
    requests = Tally(reads=10, writes=writes)
    requests.by_resource["patch", "configmaps"] = writes
    requests.by_resource["get", "secrets"] = 10
    return OperatorRun(
        [Milestone("first pod Ready", 3.0), Milestone("Available", available)], requests, Tally()
    )


def results() -> Results:
    """Three runs, of which the median is reported."""
    machine = Machine("2026-01-01", 2, 7.8, "v1.36.3", "2.4.0")
    bare = [[Milestone("first pod Ready", 4.0), Milestone("pod 2 Ready", at)] for at in (9, 10, 30)]
    return Results(
        machine,
        300.0,
        runs=[run(20.0, 30), run(12.0, 26), run(11.0, 26)],
        without_operator=bare,
        concurrent=ConcurrentRun({"one-1": 5.0, "one-2": 8.0}, Tally(reads=5)),
        cpu_seconds=1.25,
        quiet=Tally(reads=2),
        memory=[Memory("a", 80.0, 82.0), Memory("b", 75.0, 99.0)],
    )


def test_the_ratio_is_that_of_the_medians() -> None:
    assert report.ratio(results()) == pytest.approx(1.2)


def test_all_pods_are_ready_with_the_last_one() -> None:
    marks = [Milestone("first pod Ready", 4.0), Milestone("pod 2 Ready", 9.0)]
    assert report.all_ready([*marks, Milestone("RaftMembershipReady", 20.0)]) == 9.0


def test_the_summary_has_each_number_and_its_budget() -> None:
    assert report.summary_rows(results()) == [
        ("three servers Ready, no operator", "10.0 s (9.0 to 30.0)", "-"),
        ("three servers, apply to Available", "12.0 s (11.0 to 20.0)", "-"),
        ("ratio, with to without operator", "1.20", "<= 1.3"),
        ("API requests until Available", "36 (36 to 40)", "<= 70"),
        ("of which writes", "26 (26 to 30)", "<= 35"),
        ("five one-server clusters Available", "8.0 s", "<= 12 s"),
        ("API requests for these five", "5", "-"),
        ("CPU time for all of these clusters", "1.25 s", "<= 1.5 s"),
        ("API requests in 5 min 00 s of quiet", "2", "-"),
        ("of which writes", "0", "0"),
        ("resident memory, highest", "99 MB", "< 120 MB"),
    ]


def test_a_milestone_of_the_operator_has_no_counterpart() -> None:
    rows = report.milestone_rows(results())
    assert ("first pod Ready", "4.0 s (4.0 to 4.0)", "3.0 s (3.0 to 3.0)") in rows
    assert ("Available", "-", "12.0 s (11.0 to 20.0)") in rows


def test_the_page_lists_the_most_frequent_requests_first() -> None:
    page = report.markdown(results())
    assert page.startswith("Measured 2026-01-01: 2 cores, 8 GiB, Kubernetes v1.36.3")
    assert page.index("| patch configmaps | 26 |") < page.index("| get secrets | 10 |")


def test_the_file_contains_plain_values() -> None:
    document = orjson.loads(orjson.dumps(report.as_json(results())))
    assert document["operator"][0]["requests"]["byResource"] == {
        "patch configmaps": 30,
        "get secrets": 10,
    }
    assert document["concurrent"]["seconds"] == {"one-1": 5.0, "one-2": 8.0}
    assert document["ratio"] == 1.2
