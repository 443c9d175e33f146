"""Small services, datacenters and records for tests of datacenters.

Uses contracts.datacenter. Every body that is built here breaks no rule.
"""

from dataclasses import replace
from typing import Any

from contracts.datacenter.service_spec import BootstrapService
from contracts.datacenter.workload_records import (
    DECLARED,
    DatacenterInfo,
    DesiredService,
    ServiceRecord,
    ServiceSource,
)

IMAGE = "registry.example.com/shipper:3.1.2"
OPENBAO = {"version": "2.4.0", "profile": "Development", "storage": {"size": "1Gi"}, "replicas": 3}


def service(name: str, **changes: Any) -> BootstrapService:
    """A Deployment with one Main container; `changes` are fields under their Python names."""
    main = {"name": "main", "image": IMAGE}
    fields: dict[str, Any] = {"name": name, "kind": "Deployment", "services": (main,)}
    return BootstrapService.model_validate({**fields, **changes})


def openbao(name: str, **changes: Any) -> BootstrapService:
    """A vault for the datacenter."""
    fields: dict[str, Any] = {"name": name, "kind": "OpenBaoCluster", "openbao": OPENBAO}
    return BootstrapService.model_validate({**fields, **changes})


def datacenter(name: str = "fra1", **changes: Any) -> DatacenterInfo:
    """An active datacenter with a place and a label."""
    info = DatacenterInfo(
        name=name,
        uid=f"uid-{name}",
        namespace=f"dc-{name}",
        region="eu-central",
        zone="eu-central-1a",
        labels={"tier": "edge"},
    )
    return replace(info, **changes)


def desired_service(
    body: BootstrapService, source: str = DECLARED, priority: int = 0, redeploy: str = ""
) -> DesiredService:
    """A desired service from that source."""
    return DesiredService(body, ServiceSource(source, priority), redeploy)


def record(
    service: DesiredService, datacenter: DatacenterInfo | None = None, **changes: Any
) -> ServiceRecord:
    """A stored record of fra1 or of another datacenter; its id is derived from its name."""
    place = datacenter or _FRA1
    return replace(
        ServiceRecord(
            id=f"record-{place.name}-{service.name}", datacenter=place, desired=service, version="1"
        ),
        **changes,
    )


_FRA1 = datacenter()
