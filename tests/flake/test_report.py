"""The results of the runs of a scenario, from the reports of pytest."""

from pathlib import Path

from e2e.flake.report import Failure, Run, read, table

REPORT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" errors="1" failures="1" tests="3">
<testcase classname="e2e.a.test_a" name="test_one" time="1.0"/>
<testcase classname="e2e.a.test_a" name="test_two" time="1.0">
<failure message="no">assert 1 == 2</failure></testcase>
<testcase classname="e2e.a.test_a" name="test_three" time="1.0">
<error message="no">the rig is gone</error></testcase>
</testsuite></testsuites>"""


def test_failures_and_errors_of_a_report_are_listed(tmp_path: Path) -> None:
    report = tmp_path / "1.xml"
    report.write_text(REPORT)
    run = read(report, 1, "", 7.0)
    assert run.tests == 3
    assert run.failures == (
        Failure("e2e.a.test_a::test_two", "assert 1 == 2"),
        Failure("e2e.a.test_a::test_three", "the rig is gone"),
    )
    assert run.summary() == "3 tests in 7 s, 2 failed"


def test_a_run_without_a_report_is_a_failure_with_its_output(tmp_path: Path) -> None:
    (failure,) = read(tmp_path / "none.xml", 137, "killed", 1.0).failures
    assert failure.text == "killed"


def test_a_run_that_failed_outside_of_its_tests_is_a_failure(tmp_path: Path) -> None:
    report = tmp_path / "1.xml"
    report.write_text('<testsuites><testsuite><testcase name="a"/></testsuite></testsuites>')
    assert read(report, 0, "", 1.0).failures == ()
    (failure,) = read(report, 3, "internal error", 1.0).failures
    assert failure.test == "the run itself, exit code 3"


def test_a_run_without_tests_is_a_failure(tmp_path: Path) -> None:
    report = tmp_path / "1.xml"
    report.write_text("<testsuites><testsuite/></testsuites>")
    assert len(read(report, 0, "", 1.0).failures) == 1


def test_the_table_counts_runs_and_lists_failed_tests() -> None:
    good = Run(10.0, 3, ())
    bad = Run(30.0, 3, (Failure("a::test_two", ""), Failure("a::test_two", "")))
    text = table({"scale": [good, bad, bad], "drift": [good]})
    rows = [line.split() for line in text.splitlines()]
    assert ["scale", "3", "2", "30", "s", "30", "s", "test_two", "(2)"] in rows
    assert ["drift", "1", "0", "10", "s", "10", "s", "-"] in rows
