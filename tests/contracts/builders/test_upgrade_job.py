"""The Jobs of the steps of an upgrade: golden files and common properties."""

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
def test_a_job_matches_its_golden_file(case: str) -> None:
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


def test_the_environment_names_the_servers() -> None:
    env = _env(CASES["upgrade-step-down"])
    assert (env.action, env.run_id, env.target) == (STEP_DOWN, "1a2b-uid-0", "x-0")
    assert env.server.pods == ("x-0", "x-1", "x-2")
    assert env.server.role == "openbao-operator-upgrade"
    # A server of either pool may lead.
    env = _env(CASES["upgrade-promote"])
    assert (env.blue, env.green, env.server.pods) == (BLUE, GREEN, (*BLUE, *GREEN))
    # The target pod is listed even beyond the desired replicas.
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
    # An evicted pod is replaced; a failed one is not.
    ignored, failed = spec["podFailurePolicy"]["rules"]
    assert ignored["onPodConditions"][0]["type"] == "DisruptionTarget"
    assert failed["onExitCodes"]["values"] == [0]
    assert failed["onExitCodes"]["containerName"] == pod["spec"]["containers"][0]["name"]


@pytest.mark.parametrize("job", CASES.values(), ids=CASES)
def test_the_pod_mounts_no_service_account_token(job: Object) -> None:
    volumes = job["spec"]["template"]["spec"]["volumes"]
    tokens = [
        source["serviceAccountToken"]["audience"]
        for volume in volumes
        for source in volume.get("projected", {}).get("sources", ())
        if "serviceAccountToken" in source
    ]
    assert tokens == [job_template().audience]


def test_the_job_name_is_unique_per_run() -> None:
    again, other = (
        upgrade_job(upgrader(), DOWN),
        upgrade_job(upgrader(), Order(STEP_DOWN, "2", "x-0")),
    )
    name = CASES["upgrade-step-down"]["metadata"]["name"]
    assert again["metadata"]["name"] == name != other["metadata"]["name"]
    assert len(name) <= 63


def test_an_invalid_order_creates_no_job() -> None:
    with pytest.raises(ValueError, match="needs the name of a pod"):
        upgrade_job(upgrader(), Order(STEP_DOWN, "r"))
