"""The Job of one step of an upgrade: a golden file, and what holds for each of them."""

import os
from pathlib import Path

import pytest
import yaml

from contracts.builders.upgrade_job import upgrade_job
from contracts.jobs.env import UpgradeEnv
from contracts.jobs.upgrade_actions import ACTIONS, PROMOTE, STEP_DOWN, Order
from contracts.naming import labels
from runtime.types import Object
from tests.gen.job_templates import job_template, upgrader

GOLDEN = Path(__file__).parent / "golden"
BLUE, GREEN = ("x-0", "x-1", "x-2"), ("x-0a1b-0", "x-0a1b-1")
DOWN = Order(STEP_DOWN, "1a2b-uid-0", "x-0")
CASES: dict[str, Object] = {
    "upgrade-step-down": upgrade_job(upgrader(), DOWN),
    "upgrade-promote": upgrade_job(
        upgrader(authority=None, pull_secrets=("pull",)), Order(PROMOTE, "op", "", BLUE, GREEN)
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_golden(case: str) -> None:
    path = GOLDEN / f"{case}.yaml"
    text = yaml.safe_dump(CASES[case], sort_keys=False)
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def _env(job: Object) -> UpgradeEnv:
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["upgrade"]
    values = {
        variable["name"]: variable["value"] for variable in container["env"] if "value" in variable
    }
    return UpgradeEnv.from_environment(values)


def test_the_job_is_told_whom_to_ask() -> None:
    env = _env(CASES["upgrade-step-down"])
    assert (env.action, env.run_id, env.target) == (STEP_DOWN, "1a2b-uid-0", "x-0")
    assert env.server.pods == ("x-0", "x-1", "x-2")
    assert env.server.role == "openbao-operator-upgrade"
    # The servers of both sets may lead.
    env = _env(CASES["upgrade-promote"])
    assert (env.blue, env.green, env.server.pods) == (BLUE, GREEN, (*BLUE, *GREEN))
    # A pod that is asked is known even beyond the wanted ones.
    env = _env(upgrade_job(upgrader(servers=("x-0",)), Order(STEP_DOWN, "r", "x-4")))
    assert env.server.pods == ("x-0", "x-4")


@pytest.mark.parametrize("action", ACTIONS)
def test_every_job_runs_once_for_a_bounded_time(action: str) -> None:
    job = upgrade_job(upgrader(), Order(action, "r", "x-0", BLUE, GREEN))
    spec, pod = job["spec"], job["spec"]["template"]
    assert (spec["backoffLimit"], pod["spec"]["restartPolicy"]) == (0, "Never")
    assert spec["activeDeadlineSeconds"] == ACTIONS[action].deadline
    assert job["metadata"]["annotations"][labels.UPGRADE_ACTION] == action
    assert job["metadata"]["annotations"][labels.UPGRADE_RUN_ID] == "r"
    assert "ownerReferences" not in job["metadata"]
    # What an eviction ends may begin anew; what fails by itself has failed.
    ignored, failed = spec["podFailurePolicy"]["rules"]
    assert ignored["onPodConditions"][0]["type"] == "DisruptionTarget"
    assert failed["onExitCodes"]["values"] == [0]
    assert failed["onExitCodes"]["containerName"] == pod["spec"]["containers"][0]["name"]


@pytest.mark.parametrize("job", CASES.values(), ids=CASES)
def test_its_pod_has_no_account_at_the_api_server(job: Object) -> None:
    volumes = job["spec"]["template"]["spec"]["volumes"]
    tokens = [
        source["serviceAccountToken"]["audience"]
        for volume in volumes
        for source in volume.get("projected", {}).get("sources", ())
        if "serviceAccountToken" in source
    ]
    assert tokens == [job_template().audience]


def test_two_runs_of_an_action_are_two_jobs_and_the_same_run_is_one() -> None:
    again, other = (
        upgrade_job(upgrader(), DOWN),
        upgrade_job(upgrader(), Order(STEP_DOWN, "2", "x-0")),
    )
    name = CASES["upgrade-step-down"]["metadata"]["name"]
    assert again["metadata"]["name"] == name != other["metadata"]["name"]
    assert len(name) <= 63


def test_an_order_with_a_problem_makes_no_job() -> None:
    with pytest.raises(ValueError, match="needs the name of a pod"):
        upgrade_job(upgrader(), Order(STEP_DOWN, "r"))
