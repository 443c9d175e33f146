"""The operator crashes after each write, during the life cycle of a datacenter."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from contracts.datacenter.kinds import DATACENTERS, WORKLOADS
from e2e.conftest import MakeNamespace
from e2e.datacenter.bodies import sleeper
from e2e.harness.datacenters import ON, DatacenterUnderTest, cleanup_of, install_datacenters
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.harness.waiting import Stopwatch, until
from e2e.rig import Rig
from runtime.builtin_kinds import DEPLOYMENT, STATEFUL_SET
from runtime.types import uid_of

RESTARTING_OPERATOR = ("e2e.harness.restarting_operator",)
TIMEOUT = 180.0


@pytest.fixture(scope="module")
def image(rig: Rig) -> str:
    """The image of the operator."""
    install_datacenters(rig)
    return rig.load_operator_image()


@pytest.fixture(scope="module")
def writes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file with the last write before each crash."""
    return tmp_path_factory.mktemp("restarting") / "writes"


@pytest.fixture(scope="module")
def restarting_operator(launcher: Launcher, controller: Identity, writes: Path) -> Operator:
    """An operator that crashes after each write, and is restarted each time."""
    operator = launcher.start(
        controller, NO_ELECTION, str(writes), module=RESTARTING_OPERATOR, environment=ON
    )
    operator.faults_expected = True
    return operator


@pytest.fixture(scope="module")
def datacenter(
    api: Api, make_namespace: MakeNamespace, restarting_operator: Operator, image: str
) -> Iterator[DatacenterUnderTest]:
    """Two services, one of which depends on the other."""
    assert restarting_operator.alive
    datacenter = DatacenterUnderTest(api, f"ams{uuid.uuid4().hex[:6]}", make_namespace())
    datacenter.create(*services(image))
    yield datacenter
    cleanup_of(api, datacenter)()


def services(image: str, replicas: int = 1) -> tuple[dict[str, object], ...]:
    """A StatefulSet, and a Deployment that depends on it."""
    return (
        sleeper(image, "base", kind="StatefulSet"),
        sleeper(image, "front", replicas=replicas, dependsOn=["base"]),
    )


@pytest.mark.timeout(900)
def test_the_life_cycle_completes_despite_a_crash_after_every_write(
    api: Api, datacenter: DatacenterUnderTest, writes: Path, image: str
) -> None:
    watch = Stopwatch()
    datacenter.await_running(TIMEOUT)
    front, base = datacenter.child("front"), datacenter.child("base")
    first = uid_of(api.get(DEPLOYMENT, datacenter.namespace, front))
    datacenter.change(bootstrapServices=list(services(image, replicas=2)))
    until("there are two pods", lambda: len(datacenter.pods("front")) == 2, TIMEOUT)
    datacenter.await_running(TIMEOUT)
    assert uid_of(api.get(DEPLOYMENT, datacenter.namespace, front)) == first
    datacenter.change(bootstrapServices=[services(image)[0]])
    until("the Deployment is retired", lambda: datacenter.state("front") == "", TIMEOUT)
    assert api.find(DEPLOYMENT, datacenter.namespace, front) is None
    assert api.find(STATEFUL_SET, datacenter.namespace, base) is not None
    datacenter.await_running(TIMEOUT)
    datacenter.delete()
    datacenter.await_gone(TIMEOUT)
    until("all objects are deleted", lambda: not datacenter.belongings(), 60.0)
    crashes = [orjson.loads(line) for line in writes.read_bytes().splitlines()]
    print(f"\n  {watch.seconds:.0f} s, {len(crashes)} crashes, each after the response to a write")
    print("\n".join(f"  {crash['method']:<7}{crash['path']}" for crash in crashes))
    written = {f"{crash['method']} {crash['path'].rpartition('/')[0]}" for crash in crashes}
    plural = WORKLOADS.plural
    for expected in (
        "POST /apis/openbao.org/v1alpha1",
        f"DELETE /apis/openbao.org/v1alpha1/{plural}",
        f"PATCH /apis/openbao.org/v1alpha1/{plural}",
        f"PATCH /apis/openbao.org/v1alpha1/{DATACENTERS.plural}",
        f"PATCH /apis/apps/v1/namespaces/{datacenter.namespace}/deployments",
        f"DELETE /apis/apps/v1/namespaces/{datacenter.namespace}/deployments",
    ):
        assert expected in written
