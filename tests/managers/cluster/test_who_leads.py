"""managers.cluster.reconcile: labels name the leader, and the servers if the labels disagree."""

import pytest

from managers.bao import login
from managers.cluster.observe.cache_refresh import LEADER_RECHECK
from runtime.outcome import Wait
from tests import gen
from tests.managers.cluster.bench import running_bench
from tests.managers.membership.servers import Servers


class TestWhoLeads:
    """Two pods carry the label of the leader: a stale label, or two leaders."""

    @pytest.fixture
    def servers(self, monkeypatch: pytest.MonkeyPatch) -> Servers:
        servers = Servers()
        monkeypatch.setattr(login, "Bao", lambda authority, name, guard: servers)
        return servers

    async def test_no_server_is_queried_while_the_labels_agree(self, servers: Servers) -> None:
        await running_bench(gen.cluster())
        assert servers.requests == []

    async def test_a_stale_label_does_not_stop_a_rollout(self, servers: Servers) -> None:
        bench = await running_bench(gen.cluster())
        servers.standby = {"10.0.0.1", "10.0.0.2"}
        bench.label_as_leader(2)
        bench.ask_for(runtime={"restartAt": "now"})
        await bench.turn()
        await bench.turn()
        assert "evict Pod x-1" in bench.writes
        assert bench.condition("OpenBaoLeader") == ("True", "LeaderFound")

    async def test_two_leaders_are_reported_and_checked_again_soon(self, servers: Servers) -> None:
        bench = await running_bench(gen.cluster())
        bench.label_as_leader(2)
        bench.ask_for(runtime={"restartAt": "now"})
        await bench.turn()
        outcome = await bench.turn()
        assert not [call for call in bench.writes if call.startswith(("delete Pod", "evict Pod"))]
        assert gen.expect(Wait, outcome).after == LEADER_RECHECK
        assert bench.condition("Degraded") == ("True", "MultipleLeaders")
