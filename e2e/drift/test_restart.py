"""Changes while no operator runs are reverted by the next one, which writes nothing else."""

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

# One edit of each object. Most of them add to what we want, which is harder to see.
MEANWHILE = (
    "a Service selects fewer pods",
    "a Service publishes only ready pods",
    "the configuration is changed",
    "the policy lets other namespaces in",
    "the Role allows more",
    "somebody is bound too",
    "the account mounts its token",
)
# From the start of the process, of which Python and the first lists take a second or two.
WITHIN = 45.0


@pytest.mark.timeout(400)
def test_an_operator_that_starts_repairs_what_is_wrong_and_nothing_else(
    api: Api, launcher: Launcher, controller: Identity, audit: AuditLog, namespace: str
) -> None:
    first = launcher.start(controller, NO_ELECTION)
    api.create(CLUSTERS, manifest(namespace, NAME))
    cluster = Cluster(api, namespace, NAME)
    cluster.await_available()
    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    assert first.stop() == 0

    edits = [EDITS[what] for what in MEANWHILE]
    before = [api.get(edit.resource, namespace, edit.name) for edit in edits]
    for edit, live in zip(edits, before, strict=True):
        api.patch(edit.resource, namespace, edit.name, edit.change(live))

    def still_wrong() -> list[str]:
        now = [api.get(edit.resource, namespace, edit.name) for edit in edits]
        checked = zip(MEANWHILE, before, now, strict=True)
        return [what for what, was, live in checked if content(live) != content(was)]

    mark, watch = audit.mark(), Stopwatch()
    second = launcher.start(controller, NO_ELECTION)
    until("all is undone", lambda: not still_wrong(), WITHIN)
    print(f"\n{len(edits)} objects repaired {watch.seconds:.1f} s after the start")
    assert len(mine(audit, mark, controller, namespace)) == len(edits)
    assert second.stop() == 0

    mark = audit.mark()
    launcher.start(controller, NO_ELECTION)
    until("it has looked at the cluster", lambda: looked(audit, mark, controller), WITHIN)
    throughout(
        "it writes nothing", lambda: not mine(audit, mark, controller, namespace), 5.0, every=0.5
    )


def mine(audit: AuditLog, mark: int, controller: Identity, namespace: str) -> list[Entry]:
    """Return what the operator wrote in a namespace since the mark."""
    return [e for e in writes(audit.since(mark, controller.user)) if e.namespace == namespace]


def looked(audit: AuditLog, mark: int, controller: Identity) -> bool:
    """Whether the operator has read Secrets, which it does in each first look at a cluster."""
    return any(e.resource == SECRET.plural for e in audit.since(mark, controller.user))
