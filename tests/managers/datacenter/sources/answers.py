"""Results of sources, and their merge. Used by the tests of this package."""

from collections.abc import Iterable, Mapping

from contracts.datacenter.service_spec import BootstrapService
from contracts.datacenter.workload_records import ServiceRecord, ServiceSource
from managers.datacenter.sources.merge import MergeResult, SourceResult, merge

DECLARED = ServiceSource("declared")
HOOK = ServiceSource("hook/network")
SET = ServiceSource("set/edge", 10)


def good(source: ServiceSource, *services: BootstrapService) -> SourceResult:
    return SourceResult(source, services)


def failed_source(source: ServiceSource, error: str = "refused") -> SourceResult:
    return SourceResult(source, None, error)


def silent() -> SourceResult:
    return SourceResult(DECLARED, None)


def merge_result(
    answers: Iterable[SourceResult],
    records: Iterable[ServiceRecord] = (),
    redeploy: Mapping[str, str] | None = None,
    forgotten: Iterable[str] = (),
) -> MergeResult:
    return merge(answers, records, redeploy or {}, frozenset(forgotten))


def sources_by_service(desired_state: MergeResult) -> dict[str, str]:
    """Names of services, and their sources."""
    return {service.name: service.source.name for service in desired_state.services}


def errors(desired_state: MergeResult) -> dict[str, str]:
    return {report.source.name: report.error for report in desired_state.sources}
