"""T8: a server that comes back from a backup, with an older history than the informer has seen."""

import asyncio
import random

import pytest

from runtime.builtin_kinds import CONFIG_MAP
from runtime.cache.informer import Informer, InformerOptions
from runtime.cache.selection import Selection
from runtime.metrics.metrics import Metrics
from runtime.testing.api_server.server import FakeApiServer
from runtime.testing.api_server.wire import FakeWire, client_of
from runtime.testing.simulation import Simulation, simulate
from runtime.types import Object, ObjectKey, key_of

NOTICED_SECONDS = 150.0
"""The server opens a watch from a future version and sends nothing: the idle timeout, and more."""


def config_map(name: str, value: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "shop"},
        "data": {"value": value},
    }


@pytest.mark.parametrize("watch_list", [True, False], ids=["streamed", "paged"])
@pytest.mark.parametrize("seed", range(5))
def test_t08_an_informer_follows_a_restored_server(seed: int, watch_list: bool) -> None:
    async def main(simulation: Simulation) -> None:
        server = FakeApiServer(simulation.clock, simulation.rng)
        for name in ("kept", "later"):
            server.put(CONFIG_MAP, config_map(name, "before"))
        backup = server.storage.revision
        server.put(CONFIG_MAP, config_map("kept", "after"))
        server.put(CONFIG_MAP, config_map("lost", "after"))
        server.storage.skip(50)
        wire = FakeWire(server, simulation.rng)
        informer = Informer(
            client_of(wire, metrics=Metrics()),
            Selection(CONFIG_MAP),
            clock=simulation.clock,
            rng=random.Random(seed),
            metrics=Metrics(),
            options=InformerOptions(watch_list=watch_list),
        )
        running = asyncio.create_task(informer.run())
        await informer.wait_synced(10.0)
        # The version of our own write is the newest, and the restored state still replaces it.
        informer.observe(server.put(CONFIG_MAP, config_map("kept", "ours")))
        server.restore(backup)
        server.put(CONFIG_MAP, config_map("new", "since"))
        await simulation.clock.sleep(NOTICED_SECONDS)
        assert {key_of(obj): obj["data"]["value"] for obj in informer.list()} == {
            ObjectKey("shop", "kept"): "before",
            ObjectKey("shop", "later"): "before",
            ObjectKey("shop", "new"): "since",
        }
        server.put(CONFIG_MAP, config_map("new", "again"))
        await simulation.clock.sleep(1.0)
        live = informer.get(ObjectKey("shop", "new"))
        assert live is not None
        assert live["data"]["value"] == "again"
        running.cancel()
        await asyncio.wait([running])

    simulate(main, seed=seed)


def test_a_compacted_version_cannot_be_restored() -> None:
    async def main(simulation: Simulation) -> None:
        server = FakeApiServer(simulation.clock, simulation.rng)
        server.put(CONFIG_MAP, config_map("a", "b"))
        server.storage.compact()
        with pytest.raises(ValueError, match="compacted"):
            server.restore(1)

    simulate(main, seed=0)
