"""`baoctl doctor`: diagnoses a cluster, and prints its problems.

Uses baoctl.commands.cluster.fetch to read and baoctl.commands.cluster.findings to decide. Called by
baoctl.verbs.clusters and baoctl.commands.bundle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from baoctl.commands.api_client import Session, run_in_session
from baoctl.commands.cluster.fetch import examine, no_clusters_text, read_clusters
from baoctl.commands.cluster.finding import Finding
from baoctl.commands.cluster.findings import CHECKS, diagnose
from baoctl.commands.cluster.observed import ClusterObservation
from baoctl.commands.cluster.rights import MissingRight, unread_text
from baoctl.commands.cluster.terminal import BAD, BOLD, DIM, GOOD, present, report_empty, safe
from baoctl.exit_codes import ExitCode
from baoctl.options import Access
from runtime.types import key_of


@dataclass(frozen=True, slots=True)
class Report:
    """The findings for one cluster, the likely cause first."""

    namespace: str
    name: str
    findings: tuple[Finding, ...]
    denied: tuple[str, ...]
    missing_rights: tuple[MissingRight, ...]


def doctor(name: str | None, access: Access, *, output: str, operator_namespace: str) -> ExitCode:
    """Examine a cluster, or all of them. Raises RequestError."""

    async def run(api: Session) -> list[Report] | str:
        if name is not None:
            return [report_of(await examine(api, name, operator_namespace))]
        clusters = await read_clusters(api, all_namespaces=access.all_namespaces)
        if not clusters:
            return await no_clusters_text(api, access)
        reports = []
        for key in map(key_of, clusters):
            session = Session(api.client, api.clock, key.namespace)
            reports.append(report_of(await examine(session, key.name, operator_namespace)))
        return reports

    reports = run_in_session("doctor", run, access)
    if isinstance(reports, str):
        report_empty(reports, [], output)
        return ExitCode.GOOD
    present(reports, Group(*(part for report in reports for part in screen(report))), output)
    return ExitCode.NOT_READY if any(report.findings for report in reports) else ExitCode.GOOD


def report_of(observed: ClusterObservation) -> Report:
    """Return the diagnosis of a cluster."""
    return Report(
        observed.namespace,
        observed.name,
        diagnose(observed),
        observed.denied,
        observed.missing_rights,
    )


def screen(report: Report) -> Iterator[RenderableType]:
    """Yield the lines of a report."""
    head = (f"{report.namespace}/{report.name}", BOLD)
    if not report.findings:
        yield Text.assemble(head, "  ", ("no problems found", GOOD), f"  {len(CHECKS)} checks")
    else:
        count = len(report.findings)
        yield Text.assemble(head, "  ", (f"{count} finding{'s' * (count > 1)}", BAD))
    for position, finding in enumerate(report.findings, start=1):
        yield Text()
        yield Text.assemble(f"{position}. ", safe(finding.cause, BAD if position == 1 else ""))
        yield Padding(safe(finding.evidence, DIM), (0, 0, 0, 3))
        if finding.next_step:
            yield Padding(safe(finding.next_step), (0, 0, 0, 3))
        yield Padding(Text.assemble(("$ ", DIM), safe(finding.command, BOLD)), (0, 0, 0, 3))
    if unread := unread_text("Not examined", report.denied, report.missing_rights):
        yield Text(f"\n{unread}", DIM)
