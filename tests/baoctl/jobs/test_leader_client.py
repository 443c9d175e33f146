"""The connection of a Job to its servers: trusted CAs, and the search for the leader."""

from pathlib import Path

import pytest

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.leader_client import PAUSES, ServerAddresses, authority_of, find_leader, servers
from contracts.jobs.env import ServerEnv
from managers.certs.x509 import make_authority
from tests import gen
from tests.baoctl.jobs.fake_raft import ImmediateClock, Raft


def env(ca_path: str) -> ServerEnv:
    return ServerEnv(namespace="ns", cluster="x", pods=("x-0",), ca_path=ca_path)


async def test_a_ca_bundle_may_contain_non_ascii_comments(tmp_path: Path) -> None:
    """The TLS library accepts only ASCII, and the bundle of public CAs contains more."""
    bundle = tmp_path / "ca.crt"
    pem = make_authority("x", gen.NOW).certificate
    bundle.write_bytes("# Főtanúsítvány\n".encode() + pem)
    async with servers(env(str(bundle)), ServerAddresses()):
        assert authority_of(env(str(bundle))).endswith(pem.decode().strip())


def test_without_a_path_the_system_cas_are_used(tmp_path: Path) -> None:
    assert authority_of(env("")) == ""
    with pytest.raises(JobFailure):
        authority_of(env(str(tmp_path / "absent")))


@pytest.mark.parametrize("pauses", [1, len(PAUSES)])
async def test_a_leader_that_is_elected_during_the_search_is_returned(
    tmp_path: Path, pauses: int
) -> None:
    raft, clock = Raft(leader=""), ImmediateClock()
    clock.later = [
        (clock.monotonic() + sum(PAUSES[:pauses]), lambda: setattr(raft, "leader", "c-1"))
    ]
    work = raft.work(tmp_path, clock)
    leader = await find_leader(work.bao, work.env.server, clock, work.addresses)
    assert leader.pod == "c-1"
