"""managers.autopilot.actions: one read, a write only on a difference, and messages of refusals."""

import pytest

from managers.autopilot.actions import AutopilotSession, apply_settings
from managers.autopilot.decide import AutopilotDecision, desired_settings
from managers.bao.client import BaoError, Denied
from managers.bao.login import StoredToken, TokenSource
from tests import gen
from tests.managers.membership.servers import Servers

ROOT = StoredToken("root-token")
SETTINGS = desired_settings(gen.cluster().read().spec, voters=3)
LEADER = gen.pod(0).ready(leading=True)


def session(servers: Servers, login: TokenSource | None = ROOT, *pods: gen.Pod) -> AutopilotSession:
    return AutopilotSession(servers, [pod.facts() for pod in pods or (LEADER,)], login)


async def test_the_same_settings_are_read_and_not_written() -> None:
    servers = Servers()
    servers.autopilot = dict(SETTINGS)
    assert await apply_settings(session(servers), SETTINGS) == AutopilotDecision(applied=True)
    assert servers.requests == ["autopilot 10.0.0.1 root-token"]


async def test_other_settings_are_written_once() -> None:
    servers = Servers()
    servers.autopilot = {**SETTINGS, "min_quorum": 0}
    assert await apply_settings(session(servers), SETTINGS) == AutopilotDecision(applied=True)
    assert await apply_settings(session(servers), SETTINGS) == AutopilotDecision(applied=True)
    assert servers.requests == [
        "autopilot 10.0.0.1 root-token",
        "set autopilot 10.0.0.1 root-token",
        "autopilot 10.0.0.1 root-token",
    ]
    assert servers.autopilot == SETTINGS


async def test_a_policy_that_lacks_the_right_is_named() -> None:
    servers = Servers()
    servers.error = Denied("permission denied", 403)
    kept = gen.present(await apply_settings(session(servers), SETTINGS))
    assert kept.refused
    assert "sys/storage/raft/autopilot/configuration" in kept.message
    assert "policy" in kept.message


async def test_a_rejection_is_reported_with_the_message_of_the_server() -> None:
    servers = Servers()
    servers.error = Denied("min_quorum must be at least 3", 400)
    kept = gen.present(await apply_settings(session(servers), SETTINGS))
    assert kept.message == "min_quorum must be at least 3"


async def test_without_a_login_no_request_is_sent_and_the_message_has_the_next_step() -> None:
    servers = Servers()
    kept = gen.present(await apply_settings(session(servers, None), SETTINGS))
    assert "spec.selfInit.oidc.enabled" in kept.message
    assert servers.requests == []


@pytest.mark.parametrize(
    "pods", [(gen.pod(0).ready(),), (LEADER, gen.pod(1).ready(leading=True))], ids=["none", "two"]
)
async def test_no_request_is_sent_without_exactly_one_leader(pods: tuple[gen.Pod, ...]) -> None:
    servers = Servers()
    assert await apply_settings(session(servers, ROOT, *pods), SETTINGS) is None
    assert servers.requests == []


async def test_an_unresponsive_server_is_retried_by_the_next_reconcile() -> None:
    servers = Servers()
    servers.error = BaoError("no answer")
    assert await apply_settings(session(servers), SETTINGS) is None
