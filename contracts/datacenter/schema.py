"""The CustomResourceDefinitions of Datacenter, BootstrapServiceSet and BootstrapWorkload.

Uses contracts.api.schema.crd and contracts.datacenter.rules.all_rules. Called by `python -m
baoctl.generate crd`. All three are cluster-scoped: they describe the platform, and no tenant may
write them.
"""

from collections.abc import Iterable
from typing import Any

from contracts.api.rules.rule import RuleOf
from contracts.api.schema.crd import Column, Schema, definition, object_schema, with_rules
from contracts.datacenter.kinds import (
    DATACENTER_KIND,
    DATACENTERS,
    SERVICE_SET_KIND,
    SERVICE_SETS,
    WORKLOAD_KIND,
    WORKLOADS,
)
from contracts.datacenter.objects import BootstrapServiceSet, Datacenter, DatacenterModel
from contracts.datacenter.rules.all_rules import DATACENTER_RULES, SET_RULES, WORKLOAD_RULES
from contracts.datacenter.workload import BootstrapWorkload
from runtime.types import Resource

_READY = '.status.conditions[?(@.type=="Ready")]'
_AGE: Column = ("Age", "date", ".metadata.creationTimestamp", "Time since creation.", 0)
_DATACENTER_COLUMNS: tuple[Column, ...] = (
    ("Provider", "string", ".spec.provider", "Provider of the services.", 0),
    ("Region", "string", ".spec.region", "Region.", 0),
    (
        "State",
        "string",
        ".spec.state",
        "State of the datacenter: Active, Maintenance, Draining or Offline.",
        0,
    ),
    ("Services", "string", ".status.summary", "Running services of desired services.", 0),
    ("Ready", "string", f"{_READY}.status", "Whether all services run.", 0),
    _AGE,
    ("Reason", "string", f"{_READY}.reason", "Reason of the condition Ready.", 1),
)
_SET_COLUMNS: tuple[Column, ...] = (
    ("Priority", "integer", ".spec.priority", "Priority of this source over others.", 0),
    _AGE,
)
_WORKLOAD_COLUMNS: tuple[Column, ...] = (
    ("Datacenter", "string", ".spec.datacenter", "Datacenter of the service.", 0),
    ("Service", "string", ".spec.service.name", "Name of the service in the datacenter.", 0),
    ("Source", "string", ".spec.source.name", "Source of the service.", 0),
    ("Kind", "string", ".spec.service.kind", "Kind that runs the service.", 0),
    ("State", "string", ".status.state", "State of the service.", 0),
    ("Ready", "string", ".status.ready", "Ready pods of desired pods.", 0),
    (
        "Attempts",
        "integer",
        ".status.attempts",
        "Failed attempts since the last change of the spec.",
        0,
    ),
    _AGE,
    # A column of type date cannot show a time in the future.
    ("Next-Retry", "string", ".status.nextRetryTime", "Time of the next attempt.", 1),
    ("Message", "string", ".status.message", "What the service waits for.", 1),
    ("Error", "string", ".status.lastError.message", "Why the last attempt failed.", 1),
)


def crds() -> tuple[Schema, ...]:
    """Return new copies of the three CustomResourceDefinitions."""
    return datacenter_crd(), service_set_crd(), workload_crd()


def datacenter_crd() -> Schema:
    """Return a new copy of the CustomResourceDefinition of Datacenter."""
    schema = _schema(Datacenter, DATACENTER_KIND, DATACENTER_RULES)
    return _platform(DATACENTERS, "dc", _DATACENTER_COLUMNS, schema)


def service_set_crd() -> Schema:
    """Return a new copy of the CustomResourceDefinition of BootstrapServiceSet, without status."""
    schema = _schema(BootstrapServiceSet, SERVICE_SET_KIND, SET_RULES)
    crd = _platform(SERVICE_SETS, "bss", _SET_COLUMNS, schema)
    del crd["spec"]["versions"][0]["subresources"]
    return crd


def workload_crd() -> Schema:
    """Return a new copy of the CustomResourceDefinition of BootstrapWorkload."""
    schema = _schema(BootstrapWorkload, WORKLOAD_KIND, WORKLOAD_RULES)
    return _platform(WORKLOADS, "bws", _WORKLOAD_COLUMNS, schema)


def _schema(model: type[DatacenterModel], kind: str, rules: Iterable[RuleOf[Any]]) -> Schema:
    return with_rules(object_schema(model, kind), rules)


def _platform(
    resource: Resource, short: str, columns: tuple[Column, ...], schema: Schema
) -> Schema:
    crd = definition(resource, (short,), columns, schema)
    crd["spec"]["scope"] = "Cluster"
    return crd
