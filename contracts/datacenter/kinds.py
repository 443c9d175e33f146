"""The three kinds as resources of the API server, and their verbs. Uses contracts.api.group."""

from typing import Final

from contracts.api.group import GROUP, VERSION
from runtime.types import Resource

DATACENTER_KIND: Final = "Datacenter"
SERVICE_SET_KIND: Final = "BootstrapServiceSet"
WORKLOAD_KIND: Final = "BootstrapWorkload"


def _platform(kind: str, plural: str) -> Resource:
    return Resource(GROUP, VERSION, kind, plural, namespaced=False)


DATACENTERS: Final = _platform(DATACENTER_KIND, "datacenters")
SERVICE_SETS: Final = _platform(SERVICE_SET_KIND, "bootstrapservicesets")
WORKLOADS: Final = _platform(WORKLOAD_KIND, "bootstrapworkloads")

NODE_ACCESS_VERB: Final = "usenodeaccess"
OBJECT_KINDS_VERB: Final = "useobjectkinds"
"""Verbs on datacenters, required to write the fields of contracts.datacenter.grants."""
