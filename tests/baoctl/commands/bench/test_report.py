"""baoctl.commands.bench.report: the printed report."""

from __future__ import annotations

import io

from baoctl.commands.bench.figures import Samples, operation_figures
from baoctl.commands.bench.report import FORWARD_NOTE, BenchReport, screen
from baoctl.commands.cluster.terminal import console, emit


def report_lines(report: BenchReport) -> list[str]:
    out = io.StringIO()
    emit(console(out), screen(report))
    return out.getvalue().splitlines()


def report(samples: Samples) -> BenchReport:
    return BenchReport(
        namespace="vault",
        cluster="prod",
        version="2.7.2",
        servers=3,
        leader="prod-1",
        path="port-forward by the API server to prod-1",
        connections_to_leader=7,
        connections_to_standbys=1,
        workers=8,
        seconds=10.0,
        size_bytes=1024,
        engine="a key-value engine of version 2 (mounted for this run and removed)",
        operations=(operation_figures("writes", samples, 10.0),),
        notes=(FORWARD_NOTE,),
    )


def test_the_screen_shows_figures_environment_and_errors() -> None:
    samples = Samples([0.002] * 12_345)
    samples.fail("answered 503")
    lines = [" ".join(line.split()) for line in report_lines(report(samples))]
    assert lines[:2] == [
        "OPERATION PER SECOND P50 P99 MAX ERRORS",
        "writes 1,234.5 2.0 ms 2.0 ms 2.0 ms 1",
    ]
    assert "OpenBao 2.7.2, 3 servers, leader prod-1" in lines
    assert "connections 7 to the leader, 1 to standbys" in lines
    assert "load 8 workers, 10 s for each operation" in lines
    assert "writes: answered 503 (x1)" in lines
    assert " ".join(lines).endswith(FORWARD_NOTE)


def test_an_operation_without_a_response_shows_dashes() -> None:
    assert report_lines(report(Samples()))[1].split() == ["writes", "0.0", "-", "-", "-", "0"]
