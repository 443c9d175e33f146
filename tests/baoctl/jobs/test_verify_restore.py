"""baoctl.jobs.verify_restore: which token is evidence that the data of the servers was replaced.

tests/integration/test_restore_job.py has the responses of a real server after a restore.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from baoctl.jobs.context import JobContext
from baoctl.jobs.leader_client import Leader, LeaderSession, ServerAddresses
from baoctl.jobs.store.egress_policy import EgressPolicy
from baoctl.jobs.verify_restore import confirm, find_evidence
from managers.bao.client import Bao, Denied
from managers.bao.models import ServerHealth
from tests.baoctl.jobs.fake_raft import ImmediateClock
from tests.gen.job_templates import restore_env, target

HEALTH = ServerHealth(
    initialized=True, sealed=False, standby=False, version="2.4.0", cluster_id="id"
)
HOURS = {"expire_time": "2030-01-01T01:00:00Z", "ttl": 3600}


@dataclass
class RefusesLater:
    """A leader with unchanged data that accepts the token once, and then rejects it."""

    token: Mapping[str, Any]
    reads: int = 0

    async def read(self, address: str, token: str, path: str) -> Mapping[str, Any]:
        self.reads += 1
        if self.reads > 1:
            raise Denied("permission denied", 403)
        return self.token

    async def health(self, address: str) -> ServerHealth:
        return HEALTH


TOKENS: dict[str, tuple[dict[str, Any], bool]] = {
    "it lasts longer than the job": ({"type": "service", **HOURS}, True),
    "it never expires": ({"type": "service", "expire_time": None, "ttl": 0}, True),
    "it expires before the job ends": ({"type": "service", **HOURS, "ttl": 300}, False),
    "it has a number of uses": ({"type": "service", **HOURS, "num_uses": 2}, False),
    "it is not stored": ({"type": "batch", **HOURS}, False),
}


@pytest.mark.parametrize("sentence", TOKENS)
async def test_only_a_long_lived_token_is_evidence_of_replaced_data(sentence: str) -> None:
    """The response to the snapshot was lost: without evidence a user has to check the data."""
    token, proves = TOKENS[sentence]
    leader = cast(Bao, RefusesLater(token))
    at = LeaderSession(leader, Leader("x-0", "10.0.0.1", HEALTH), "token")
    evidence = await find_evidence(at)
    assert evidence.proves is proves

    async def resolve(host: str) -> str:
        return "10.0.0.1"

    context = JobContext(ImmediateClock(), {}, EgressPolicy(), ServerAddresses(resolve))
    env = restore_env(target())
    env = replace(env, server=replace(env.server, pods=("x-0",)))
    confirmation = await confirm(env, context, at, evidence)
    assert confirmation.state == ("Applied" if proves else "Unconfirmed")
