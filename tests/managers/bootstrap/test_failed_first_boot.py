"""managers.bootstrap.first_boot: a cluster with an incomplete self-init is never ready."""

import pytest

from contracts.api.cluster.status import FailedFirstBoot
from managers.bootstrap.first_boot import failed_first_boot, self_init_failed
from managers.cluster.resolve.resolve import resolve
from runtime.outcome import Blocked
from tests import gen

NEW = gen.cluster()
FAILED = FailedFirstBoot(pod="x-0", volume_uid="uid-claim-0", exit_code=1)
RECORDED = NEW.with_status(
    failedFirstBoot={"pod": "x-0", "volumeUID": "uid-claim-0", "exitCode": 1}
)
RAN = gen.pod().ready().with_restarts()
REFUSED = "Error initializing: self-initialization failed: refusing to unseal"


def first_boot(*pods: gen.Pod) -> gen.World:
    live = gen.stateful_set().first_boot()
    return gen.world().with_set(live).with_pods(*pods).with_claims(0)


# sentence: (cluster, world, the failed first boot)
ROWS: dict[str, tuple[gen.Cluster, gen.World, FailedFirstBoot | None]] = {
    "it became ready after a restart": (NEW, first_boot(RAN), FAILED),
    "it fails at each restart": (
        NEW, first_boot(gen.pod().with_restarts(message=REFUSED)), FAILED
    ),
    "a request failed, and it has not restarted yet": (
        NEW,
        first_boot(gen.pod().with_restarts(message="failed to initialize: request.[x] ...")),
        FAILED,
    ),
    "its seal is unavailable": (
        NEW, first_boot(gen.pod().with_restarts(message="error fetching seal key")), None,
    ),
    "it starts for the first time": (NEW, first_boot(gen.pod()), None),
    "a new pod on the same volume": (RECORDED, first_boot(gen.pod().ready()), FAILED),
    "the volume is being deleted": (
        RECORDED, gen.world().with_pods(gen.pod().ready()).with_claims(0, gone=True), FAILED,
    ),
    "the volume was replaced": (
        RECORDED.with_status(
            failedFirstBoot={"pod": "x-0", "volumeUID": "uid-before", "exitCode": 1}
        ),
        first_boot(gen.pod().ready()),
        None,
    ),
    "the cluster is initialized": (RECORDED.initialized(), first_boot(RAN), None),
}  # fmt: skip


@pytest.mark.parametrize(("cluster", "world", "failed"), ROWS.values(), ids=ROWS)
def test_row(cluster: gen.Cluster, world: gen.World, failed: FailedFirstBoot | None) -> None:
    assert failed_first_boot(cluster.read(), world.facts()) == failed


def test_a_volume_that_is_not_in_the_cache_yet_does_not_hide_the_failure() -> None:
    world = gen.world().with_set(gen.stateful_set().first_boot()).with_pods(RAN)
    assert gen.present(failed_first_boot(NEW.read(), world.facts())).volume_uid == ""


def test_it_blocks_the_cluster_and_names_the_commands() -> None:
    world = first_boot(gen.pod().ready())
    blocked = gen.present(self_init_failed(RECORDED.read(), world.facts()))
    assert blocked.reason == "SelfInitFailed"
    for part in ("data-x-0 openbao.org/maintenance=true", "delete pod x-0", "code 1"):
        assert part in blocked.message
    assert isinstance(
        resolve(RECORDED.read(), RECORDED.owner(), world.facts(), gen.INSTALLATION), Blocked
    )
