"""contracts.datacenter.workload_records: digests of desired services, and the order of sources."""

from dataclasses import replace
from typing import Any

from contracts.datacenter.service_spec import BootstrapService
from contracts.datacenter.workload_records import DesiredService, ServiceSource
from tests.contracts.datacenter.services import service


def desired_service(redeploy: str = "", **fields: Any) -> DesiredService:
    return DesiredService(
        BootstrapService.model_validate(service(**fields)), ServiceSource("declared"), redeploy
    )


def test_every_change_that_is_rolled_out_changes_the_digest() -> None:
    wishes = [
        desired_service(),
        desired_service(replicas=2),
        desired_service(kind="DaemonSet"),
        desired_service(dependsOn=["b"]),
        desired_service(volumePolicy="Delete"),
        desired_service(labels={"team": "net"}),
        desired_service(annotations={"a": "b"}),
        desired_service(deletionPolicy="Orphan"),
        desired_service("again-1"),
    ]
    assert len({spec.digest for spec in wishes}) == len(wishes)
    assert (
        desired_service().digest
        == desired_service().digest
        == replace(desired_service(), source=ServiceSource("set/net")).digest
    )


def test_a_changed_copy_does_not_reuse_the_cached_digest() -> None:
    first = desired_service()
    before = first.digest
    assert first.digest is before
    again = replace(first, redeploy="again-1")
    assert again.digest != before
    assert replace(again, redeploy="").digest == before
    assert first == desired_service()
    assert before not in repr(first)


def test_the_order_of_sources_does_not_depend_on_the_input_order() -> None:
    ranked = [
        ServiceSource("declared"),
        ServiceSource("set/z", 7),
        ServiceSource("hook/a"),
        ServiceSource("set/a"),
        ServiceSource("set/b", -1),
    ]
    assert sorted(reversed(ranked), key=lambda source: source.rank) == ranked
