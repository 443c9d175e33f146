"""managers.upgrade.jobs: one Job per order, owned by the cluster, and its state."""

from typing import Any

import pytest

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.jobs.upgrade_actions import PROMOTE, STEP_DOWN, Order
from contracts.naming import names
from managers.jobs.client import Jobs
from managers.upgrade.jobs import ensure_order, read_job
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import JOB
from runtime.types import Object
from tests import gen
from tests.gen.api import FakeApi
from tests.gen.job_templates import upgrader

CLUSTER = gen.cluster()
OWNER: Owner = CLUSTER.owner()
NAME = names.upgrade_job("x", STEP_DOWN, "run-1")
STEPS_DOWN = Order(STEP_DOWN, "run-1", "x-0")
ORDER = Order(PROMOTE, "run-1", blue=("x-0",), green=("x-1a-0",))


def parse_cluster() -> OpenBaoCluster:
    return CLUSTER.read()


def there(owner: Object, **content: Any) -> tuple[Any, Object]:
    metadata = {"name": NAME, "namespace": OWNER.namespace, "uid": "u", "ownerReferences": [owner]}
    return JOB, {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, **content}


async def test_the_job_is_owned_by_the_cluster_and_created_once() -> None:
    api = FakeApi()
    order = await ensure_order(Jobs(api), upgrader(), OWNER, STEPS_DOWN)
    assert (order.name, order.state, order.foreign) == (NAME, "Active", False)
    assert api.body_of(f"create Job {NAME}")["metadata"]["ownerReferences"] == [OWNER.reference()]
    await ensure_order(Jobs(api), upgrader(), OWNER, STEPS_DOWN)
    assert len(api.of(JOB)) == 1


async def test_an_order_about_pools_has_its_own_job() -> None:
    api = FakeApi()
    order = await ensure_order(Jobs(api), upgrader(), OWNER, ORDER)
    assert order.name == names.upgrade_job("x", PROMOTE, "run-1")


async def test_a_job_of_another_owner_is_foreign() -> None:
    other = {**OWNER.reference(), "uid": "another"}
    api = FakeApi().with_objects(there(other))
    assert (await ensure_order(Jobs(api), upgrader(), OWNER, STEPS_DOWN)).foreign
    assert gen.present(await read_job(api, parse_cluster(), NAME)).foreign


async def test_a_deleted_job_is_none() -> None:
    assert await read_job(FakeApi(), parse_cluster(), NAME) is None


ENDS = [
    ("Complete", {}, "Succeeded", ""),
    (
        "Failed",
        {"reason": "PodFailurePolicy", "message": "exit code 7"},
        "Failed",
        "PodFailurePolicy: exit code 7",
    ),
    ("Failed", {"reason": "DeadlineExceeded"}, "Failed", "DeadlineExceeded"),
]


@pytest.mark.parametrize(("kind", "words", "state", "message"), ENDS)
async def test_the_end_of_a_job_is_its_condition(
    kind: str, words: dict[str, str], state: str, message: str
) -> None:
    status = {"conditions": [{"type": kind, "status": "True", **words}]}
    api = FakeApi().with_objects(there(OWNER.reference(), status=status))
    job = gen.present(await read_job(api, parse_cluster(), NAME))
    assert (job.name, job.state, job.message, job.foreign) == (NAME, state, message, False)
