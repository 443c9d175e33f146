"""docs/upgrade-jobs.md says what the code does: actions, limits, exit statuses, and rights."""

import re
from pathlib import Path

from contracts.exit_codes import EXIT_CODES, STEP_EXIT_CODES
from contracts.hcl.roles import upgrade_role
from contracts.jobs.upgrade_actions import ACTIONS, START_SECONDS

PAGE = (Path(__file__).parents[3] / "docs" / "upgrade-jobs.md").read_text(encoding="utf-8")
WORDS = re.sub(r"\s+", " ", PAGE)
NOT_OF_UPGRADES = {"Snapshot", "Storage", "Verification"}


def test_every_action_stands_there_with_its_limit() -> None:
    matches = re.findall(r"^\| `([a-z-]+)` \|.*\| (\d+) s \|.*\|$", PAGE, re.MULTILINE)
    assert dict(matches) == {name: str(action.seconds) for name, action in ACTIONS.items()}
    assert f"Kubernetes ends a Job {START_SECONDS} seconds after" in WORDS


def test_every_exit_status_stands_there() -> None:
    counts = {(int(code), name) for code, name in re.findall(r"^\| (\d) \| (\w+) \|", PAGE, re.M)}
    own = {(code, name) for name, code in EXIT_CODES.items() if name not in NOT_OF_UPGRADES}
    assert counts == own | {(code, name) for name, code in STEP_EXIT_CODES.items()}


def test_the_policy_that_a_person_writes_is_that_of_the_first_boot() -> None:
    (policy,) = re.findall(r"<<'POLICY'\n(.*?)\nPOLICY", PAGE, re.DOTALL)
    shown = re.sub(r"\s+", " ", policy)
    policy_text = upgrade_role("r", ("s",), blue_green=True).policy_text()
    assert shown == re.sub(r"\s+", " ", policy_text)
