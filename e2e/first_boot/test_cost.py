"""API requests of a first boot: the longer servers take to join, the more status updates."""

from e2e.first_boot.sample import first_boot
from e2e.harness.audit import AuditLog, tally, work, writes
from e2e.harness.budgets import budget
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.operator import Launcher
from e2e.rig import Rig

REQUESTS = 45
# Two of them are the ServiceAccount of upgrade Jobs and the status of the configured login.
WRITES = 38
# Read one by one when the operator starts, because the RBAC rules name each of them: a cost of the
# start, which overlaps with the boot.
ADMISSION = "admissionregistration.k8s.io"


def test_a_first_boot_costs_few_requests(
    rig: Rig, api: Api, audit: AuditLog, controller: Identity, launcher: Launcher
) -> None:
    with first_boot(rig, api, audit, controller, launcher) as boot:
        requests = [entry for entry in work(boot.entries) if entry.group != ADMISSION]
        changed = writes(boot.entries)
        print(f"\n{len(requests)} requests, {len(changed)} writes: {tally(requests)}")
        budget("first boot", len(requests), REQUESTS, "requests")
        budget("first boot", len(changed), WRITES, "writes")
