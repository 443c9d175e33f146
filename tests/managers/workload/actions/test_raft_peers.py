"""managers.workload.actions.raft_peers: the volume is marked before the peer is removed."""

from dataclasses import replace

import pytest

from contracts.naming import labels
from contracts.records.effects import DeleteClaim
from managers.bao.client import BaoError, Denied
from managers.workload.actions.raft_peers import delete_claim, remove_peer
from runtime.builtin_kinds import PVC
from runtime.errors import LeaseLost
from tests import gen
from tests.gen.api import FakeApi, Outside, api_error
from tests.managers.membership.servers import Servers
from tests.managers.workload.actions.bench import CLAIM, MEANT, REMOVE

LOGIN = "login 10.0.0.1 jwt-operator openbao-operator jwt-1"
WITHOUT = replace(MEANT, has_operator_login=False)


def there() -> Outside:
    return Outside(FakeApi().with_objects((PVC, CLAIM)))


def mark_of(outside: Outside) -> str | None:
    (claim,) = outside.api.of(PVC)
    removed_peer: str | None = claim["metadata"]["annotations"].get(labels.REMOVED_PEER)
    return removed_peer


class TestRemovePeer:
    async def test_the_volume_is_marked_before_the_peer_is_removed(self, servers: Servers) -> None:
        outside = there()
        await remove_peer(outside.context, outside.logins, MEANT, REMOVE)
        assert mark_of(outside) == "x-2"
        assert servers.requests == [LOGIN, "remove-peer 10.0.0.1 x-2 t1", "bye"]
        assert gen.present(outside.context.attempts.last("remove-peer", "uid-x-2")).refusal == ""
        outside.api.calls.clear()
        assert await outside.flush_events() == [
            ("Normal", "PeerRemoved", "Removed x-2 from the raft cluster")
        ]

    async def test_with_another_volume_no_peer_is_removed(self, servers: Servers) -> None:
        outside = there()
        other = replace(REMOVE, claim_uid="uid-of-before")
        await remove_peer(outside.context, outside.logins, MEANT, other)
        assert (mark_of(outside), servers.requests) == (None, [])

    async def test_a_server_without_a_volume_is_removed_too(self, servers: Servers) -> None:
        outside = there()
        bare = replace(REMOVE, uid="", claim="", claim_uid="")
        await remove_peer(outside.context, outside.logins, MEANT, bare)
        assert servers.requests[1].startswith("remove-peer")
        assert outside.context.attempts.last("remove-peer", "uid-x") is not None

    @pytest.mark.parametrize("error", [LeaseLost("gone"), api_error(500)], ids=["lease", "server"])
    async def test_an_error_at_the_mark_removes_no_peer(
        self, servers: Servers, error: Exception
    ) -> None:
        outside = there()
        outside.api.refuse("patch PersistentVolumeClaim data-x-2", error)
        with pytest.raises(type(error)):
            await remove_peer(outside.context, outside.logins, MEANT, REMOVE)
        assert servers.requests == []

    async def test_a_refusal_is_recorded_for_the_cluster(self, servers: Servers) -> None:
        servers.error = Denied("permission denied", 403)
        outside = there()
        await remove_peer(outside.context, outside.logins, MEANT, REMOVE)
        noted = gen.present(outside.context.attempts.last("remove-peer", "uid-x"))
        assert "permission denied" in noted.refusal
        outside.api.calls.clear()
        assert await outside.flush_events() == []

    async def test_a_lost_response_is_not_a_refusal(self, servers: Servers) -> None:
        servers.error = BaoError("no answer")
        outside = there()
        await remove_peer(outside.context, outside.logins, MEANT, REMOVE)
        assert gen.present(outside.context.attempts.last("remove-peer", "uid-x-2")).refusal == ""
        assert outside.context.attempts.last("remove-peer", "uid-x") is None

    async def test_without_a_login_nothing_is_written(self, servers: Servers) -> None:
        outside = there()
        await remove_peer(outside.context, outside.logins, WITHOUT, REMOVE)
        assert (mark_of(outside), servers.requests) == (None, [])
        assert gen.present(outside.context.attempts.last("remove-peer", "uid-x")).refusal


async def test_a_volume_is_deleted_by_uid_with_an_event() -> None:
    outside = there()
    await delete_claim(outside.context, MEANT, DeleteClaim("data-x-2", "uid-claim-2"))
    assert outside.api.body_of("delete PersistentVolumeClaim data-x-2")["uid"] == "uid-claim-2"
    outside.api.calls.clear()
    ((kind, reason, text),) = await outside.flush_events()
    assert (kind, reason) == ("Normal", "VolumeDeleted")
    assert "data-x-2" in text


class TestMarkAfterRefusal:
    """The server is still a member, and spec.replicas may request it again."""

    async def test_the_mark_is_removed(self, servers: Servers) -> None:
        servers.error = Denied("permission denied", 403)
        outside = there()
        await remove_peer(outside.context, outside.logins, MEANT, REMOVE)
        assert mark_of(outside) is None

    async def test_the_mark_is_kept_after_a_lost_response(self, servers: Servers) -> None:
        servers.error = BaoError("no answer")
        outside = there()
        await remove_peer(outside.context, outside.logins, MEANT, REMOVE)
        assert mark_of(outside) == "x-2"
