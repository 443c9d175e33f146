"""The verbs with the rights of a role: what they show, and which missing rights they name."""

from __future__ import annotations

from pathlib import Path

from tests.baoctl.command_line import command_line
from tests.baoctl.commands.cluster.bench import world
from tests.baoctl.roles import KUBERNETES_VIEW, OPERATOR_VIEW, RoleOf

BOTH = RoleOf((*OPERATOR_VIEW, *KUBERNETES_VIEW))


async def test_the_view_role_of_kubernetes_is_enough_for_events(tmp_path: Path) -> None:
    async with command_line(world(), tmp_path, BOTH) as baoctl:
        result = await baoctl("events", "first")
    assert (result.exit_code, result.stderr) == (0, "")
