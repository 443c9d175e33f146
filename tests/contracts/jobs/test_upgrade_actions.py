"""The actions of upgrade Jobs: the table, and invalid orders."""

import pytest

from baoctl.jobs.upgrade.main import HANDLERS
from contracts.jobs.upgrade_actions import ACTIONS, DEMOTE, JOIN, STEP_DOWN, Order
from managers.upgrade.rolling.facts import STEP_DOWN_DEADLINE

SETS = {"blue": ("c-0",), "green": ("c-g-0",)}
WRONG: dict[str, tuple[Order, str]] = {
    "unknown": (Order("reboot", "r"), "'reboot' is not an action of an upgrade"),
    "no target": (Order(STEP_DOWN, "r"), f"{STEP_DOWN} needs the name of a pod"),
    "no pools": (Order(JOIN, "r"), f"{JOIN} needs the names of all pods of blue and of green"),
    "half of the pools": (
        Order(DEMOTE, "r", green=("c-g-0",)),
        f"{DEMOTE} needs the names of all pods of blue and of green",
    ),
    "a pod in both": (
        Order(DEMOTE, "r", blue=("c-0", "c-1"), green=("c-1",)),
        "c-1 cannot be in both blue and green",
    ),
}


@pytest.mark.parametrize(("order", "problem"), WRONG.values(), ids=WRONG)
def test_an_invalid_order_has_a_problem(order: Order, problem: str) -> None:
    assert order.problem() == problem


@pytest.mark.parametrize("action", ACTIONS)
def test_a_complete_order_has_no_problem(action: str) -> None:
    needs = ACTIONS[action]
    sets = SETS if needs.pools else {}
    assert Order(action, "r", "c-0" if needs.target else "", **sets).problem() == ""


def test_every_action_has_a_handler() -> None:
    assert {*HANDLERS} == {*ACTIONS}
    assert STEP_DOWN in ACTIONS


def test_a_job_gives_up_before_kubernetes_ends_it() -> None:
    assert all(0 < action.seconds < action.deadline for action in ACTIONS.values())
    # The Job has reported its result by then.
    assert ACTIONS[STEP_DOWN].deadline <= STEP_DOWN_DEADLINE.total_seconds()
