"""Effects for the tests of actions, and an API server with one pod."""

from contracts.records.effects import RemovePeer, ReplacePod, ServerEndpoint
from runtime.builtin_kinds import POD
from tests import gen
from tests.gen.api import FakeApi, Outside

MEANT = gen.resolved(gen.cluster())
EFFECT = ReplacePod("x-2", "uid-x-2")
CLAIM = gen.claim("data-x-2", uid="uid-claim-2")
LEADER = ServerEndpoint("10.0.0.1", "the authority", "the name")
REMOVE = RemovePeer("x-2", "uid-x-2", LEADER, claim="data-x-2", claim_uid="uid-claim-2")


def outside() -> Outside:
    return Outside(FakeApi().with_objects((POD, gen.pod(2).object())))
