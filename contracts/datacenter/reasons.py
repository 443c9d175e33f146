"""The conditions of a Datacenter and the reasons that they may give.

Uses contracts.conditions.reason. Read by managers.datacenter.status, which gives no other, and by
docs/datacenters.md.
"""

from typing import Final

from contracts.conditions.reason import NOTHING, Reason

READY: Final = "Ready"
"""Whether every service runs as it is wanted."""
SOURCES_READY: Final = "SourcesReady"
"""Whether every source of services answers."""
NO_CONFLICTS: Final = "NoConflicts"
"""Whether every name of a service is wanted by one source."""

_REASONS = (
    Reason("AllRunning", "Every service runs as it is wanted.", NOTHING),
    Reason(
        "ServicesNotRunning",
        "Services are being made, changed or taken away, or wait for others.",
        "Wait; if it lasts, `baoctl datacenter status <name>` says what each one waits for.",
    ),
    Reason(
        "ServicesFailed",
        "The last attempt at a service failed. It is tried again, unless only a change helps.",
        "`baoctl datacenter status <name>` shows the error of each service and the next attempt.",
    ),
    Reason(
        "InvalidSpec",
        "The spec cannot be read or breaks a rule; what there is stays as it is.",
        "Correct the field that the message names.",
    ),
    Reason(
        "Maintenance",
        "spec.state is Maintenance: nothing is changed, and what runs is still looked at.",
        "Set spec.state to Active when the maintenance is over.",
    ),
    Reason(
        "Offline",
        "spec.state is Offline: nothing is looked at, so nobody knows what runs.",
        "Set spec.state to Active when the datacenter is back.",
    ),
    Reason(
        "Deleting",
        "The datacenter is being deleted, and its services are taken away before it.",
        "Wait; if it lasts, the message names what is left. In state Maintenance or Offline set "
        "spec.state to Draining.",
    ),
    Reason("AllAnswer", "Every source of services answers.", NOTHING),
    Reason(
        "SourceDegraded",
        "A source failed or gave services that break a rule; its last good ones stay.",
        "Read status.sources: it names each source and its error.",
    ),
    Reason("NoConflict", "No two sources give a service of the same name.", NOTHING),
    Reason(
        "Conflict",
        "Two sources give a service of the same name; the one with the higher rank is used.",
        "Remove or rename one of the two that the message names.",
    ),
)
DATACENTER_REASONS: Final = {reason.name: reason for reason in _REASONS}
