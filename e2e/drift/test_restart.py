"""A new operator reverts the changes made while none was running, and writes nothing else."""

import pytest

from contracts.api.group import CLUSTERS
from e2e.drift.edits import EDITS, NAME, content
from e2e.harness.audit import AuditLog, Entry, writes
from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import NO_ELECTION, Launcher
from e2e.harness.waiting import Stopwatch, throughout, until
from runtime.builtin_kinds import SECRET

# One edit of each object. Most of them add to the desired state, which is harder to detect.
WHILE_STOPPED = (
    "a Service selects fewer pods",
    "a Service publishes only ready pods",
    "the configuration is changed",
    "the policy allows other namespaces",
    "the Role allows more",
    "the RoleBinding has one more subject",
    "the account mounts its token",
)
# From the start of the process; Python and the first lists take a second or two of it.
WITHIN = 45.0


@pytest.mark.timeout(400)
def test_a_new_operator_reverts_the_edits_and_writes_nothing_else(
    api: Api, launcher: Launcher, controller: Identity, audit: AuditLog, namespace: str
) -> None:
    first = launcher.start(controller, NO_ELECTION)
    api.create(CLUSTERS, manifest(namespace, NAME))
    cluster = Cluster(api, namespace, NAME)
    cluster.await_available()
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    assert first.stop() == 0

    edits = [EDITS[what] for what in WHILE_STOPPED]
    before = [api.get(edit.resource, namespace, edit.name) for edit in edits]
    for edit, live in zip(edits, before, strict=True):
        api.patch(edit.resource, namespace, edit.name, edit.change(live))

    def remaining() -> list[str]:
        now = [api.get(edit.resource, namespace, edit.name) for edit in edits]
        checked = zip(WHILE_STOPPED, before, now, strict=True)
        return [what for what, was, live in checked if content(live) != content(was)]

    mark, watch = audit.mark(), Stopwatch()
    second = launcher.start(controller, NO_ELECTION)
    until("all edits are reverted", lambda: not remaining(), WITHIN)
    print(f"\n{len(edits)} objects reverted {watch.seconds:.1f} s after the start")
    assert len(writes_of_operator(audit, mark, controller, namespace)) == len(edits)
    assert second.stop() == 0

    mark = audit.mark()
    launcher.start(controller, NO_ELECTION)
    until(
        "the operator reconciles the cluster",
        lambda: has_reconciled(audit, mark, controller),
        WITHIN,
    )
    throughout(
        "the operator writes nothing",
        lambda: not writes_of_operator(audit, mark, controller, namespace),
        5.0,
        every=0.5,
    )


def writes_of_operator(
    audit: AuditLog, mark: int, controller: Identity, namespace: str
) -> list[Entry]:
    """Return what the operator wrote in a namespace since the mark."""
    return [e for e in writes(audit.since(mark, controller.user)) if e.namespace == namespace]


def has_reconciled(audit: AuditLog, mark: int, controller: Identity) -> bool:
    """Whether the operator has read Secrets, as in each first reconcile of a cluster."""
    return any(e.resource == SECRET.plural for e in audit.since(mark, controller.user))
