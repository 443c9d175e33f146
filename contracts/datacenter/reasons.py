"""The conditions of a Datacenter and their reasons.

Uses contracts.conditions.reason. Used by managers.datacenter.status, which sets no other reason;
docs/datacenters.md lists them.
"""

from typing import Final

from contracts.conditions.reason import NO_ACTION, Reason

READY: Final = "Ready"
"""Whether every service runs in its desired state."""
SOURCES_READY: Final = "SourcesReady"
"""Whether every source of services returns a valid list."""
NO_CONFLICTS: Final = "NoConflicts"
"""Whether no two sources declare a service of the same name."""

_REASONS = (
    Reason("AllRunning", "Every service runs in its desired state.", NO_ACTION),
    Reason(
        "ServicesNotRunning",
        "Services are being created, updated or deleted, or wait for their dependencies.",
        "Wait; `kubectl bao datacenter status <name>` shows what each service waits for.",
    ),
    Reason(
        "ServicesFailed",
        "The last attempt to provision a service failed. It is retried, unless the spec or the "
        "environment has to change first.",
        "Run `kubectl bao datacenter status <name>`: it shows the error of each service and the "
        "next attempt.",
    ),
    Reason(
        "InvalidSpec",
        "The spec cannot be parsed or violates a rule; existing services are not changed.",
        "Correct the field that the message names.",
    ),
    Reason(
        "Maintenance",
        "spec.state is Maintenance: services are observed but not changed.",
        "Set spec.state to Active when the maintenance is over.",
    ),
    Reason(
        "Offline",
        "spec.state is Offline: services are not observed, so their state is unknown.",
        "Set spec.state to Active when the datacenter is back.",
    ),
    Reason(
        "Deleting",
        "The datacenter is being deleted; its services are deleted first.",
        "Wait; the message names the remaining services. In state Maintenance or Offline nothing "
        "is deleted: set spec.state to Draining.",
    ),
    Reason("AllSourcesReady", "Every source of services returned a valid list.", NO_ACTION),
    Reason(
        "SourceDegraded",
        "A source failed or returned services that violate a rule; its last valid services are "
        "kept.",
        "Read status.sources: it names each source and its error.",
    ),
    Reason("NoConflict", "No two sources declare a service of the same name.", NO_ACTION),
    Reason(
        "Conflict",
        "Two sources declare a service of the same name; the one of higher precedence is used.",
        "Remove or rename one of the two services that the message names.",
    ),
)
DATACENTER_REASONS: Final = {reason.name: reason for reason in _REASONS}
