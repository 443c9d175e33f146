"""docs/upgrade-jobs.md matches the code: actions, limits, exit statuses and policies."""

import re
from pathlib import Path

from contracts.exit_codes import EXIT_CODES, STEP_EXIT_CODES
from contracts.hcl.roles import upgrade_role
from contracts.jobs.upgrade_actions import ACTIONS, START_SECONDS

PAGE = (Path(__file__).parents[3] / "docs" / "upgrade-jobs.md").read_text(encoding="utf-8")
WORDS = re.sub(r"\s+", " ", PAGE)
NOT_OF_UPGRADES = {"Snapshot", "Storage", "Verification"}


def test_every_action_is_documented_with_its_limit() -> None:
    matches = re.findall(r"^\| `([a-z-]+)` \|.*\| (\d+) s \|.*\|$", PAGE, re.MULTILINE)
    assert dict(matches) == {name: str(action.seconds) for name, action in ACTIONS.items()}
    assert f"Kubernetes ends a Job {START_SECONDS} seconds after" in WORDS


def test_every_exit_status_is_documented() -> None:
    counts = {(int(code), name) for code, name in re.findall(r"^\| (\d) \| (\w+) \|", PAGE, re.M)}
    own = {(code, name) for name, code in EXIT_CODES.items() if name not in NOT_OF_UPGRADES}
    assert counts == own | {(code, name) for name, code in STEP_EXIT_CODES.items()}


def test_the_documented_policy_is_that_of_the_first_boot() -> None:
    (policy,) = re.findall(r"<<'POLICY'\n(.*?)\nPOLICY", PAGE, re.DOTALL)
    shown = re.sub(r"\s+", " ", policy)
    policy_text = upgrade_role("r", ("s",), blue_green=True).policy_text()
    assert shown == re.sub(r"\s+", " ", policy_text)
