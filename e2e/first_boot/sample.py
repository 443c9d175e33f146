"""The quickstart sample, applied to a rig that has none of its objects."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from e2e.conftest import sweep
from e2e.harness.audit import AuditLog, Entry
from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.operator import Launcher, Operator
from e2e.harness.waiting import Stopwatch, until
from e2e.rig import Rig
from e2e.rig.paths import REPOSITORY
from e2e.rig.versions import OPENBAO, OPENBAO_RELEASES
from runtime.builtin_kinds import NAMESPACE

SAMPLE = REPOSITORY / "config" / "samples" / "quickstart.yaml"
SAMPLE_NAMESPACE = "openbao-quickstart"


@dataclass(frozen=True, slots=True)
class Boot:
    """A cluster that just became Available, and the requests of the operator until then."""

    cluster: Cluster
    operator: Operator
    entries: list[Entry]
    start: int
    """Mark of the audit log at the apply."""


@contextmanager
def first_boot(
    rig: Rig, api: Api, audit: AuditLog, controller: Identity, launcher: Launcher
) -> Iterator[Boot]:
    """Start an operator, apply the sample, wait until it is Available; delete it at the end."""

    def is_gone() -> bool:
        return api.find(NAMESPACE, None, SAMPLE_NAMESPACE) is None

    until("the sample of an earlier session is gone", is_gone, 60.0)
    operator = launcher.start(controller)
    operator.await_leading()
    start, watch = audit.mark(), Stopwatch()
    text = SAMPLE.read_text(encoding="utf-8").replace(OPENBAO_RELEASES[-1], OPENBAO)
    rig.kubectl("apply", "-f", "-", input=text)
    cluster = Cluster(api, SAMPLE_NAMESPACE, "quickstart")
    cluster.await_available()
    print(f"\nthree servers Available after {watch.seconds:.1f} s")
    yield Boot(cluster, operator, audit.since(start, controller.user), start)
    sweep(api, SAMPLE_NAMESPACE)
