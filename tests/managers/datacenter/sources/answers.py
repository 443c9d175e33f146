"""Answers of sources, and what a merge makes of them. Used by the tests beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from contracts.datacenter.service_spec import BootstrapService
from contracts.datacenter.workload_records import ServiceRecord, ServiceSource
from managers.datacenter.sources.merge import Merged, SourceAnswer, merge

DECLARED = ServiceSource("declared")
HOOK = ServiceSource("hook/network")
SET = ServiceSource("set/edge", 10)


def good(source: ServiceSource, *services: BootstrapService) -> SourceAnswer:
    return SourceAnswer(source, services)


def failed(source: ServiceSource, error: str = "refused") -> SourceAnswer:
    return SourceAnswer(source, None, error)


def silent() -> SourceAnswer:
    return SourceAnswer(DECLARED, None)


def merged(
    answers: Iterable[SourceAnswer],
    rows: Iterable[ServiceRecord] = (),
    redeploy: Mapping[str, str] | None = None,
    forgotten: Iterable[str] = (),
) -> Merged:
    return merge(answers, rows, redeploy or {}, frozenset(forgotten))


def wanted(found: Merged) -> dict[str, str]:
    """Names of services, and where they come from."""
    return {one.name: one.source.name for one in found.services}


def errors(found: Merged) -> dict[str, str]:
    return {report.source.name: report.error for report in found.sources}
