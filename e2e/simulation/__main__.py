"""python -m e2e.simulation KUBECONFIG."""

import asyncio
import random
import sys
from pathlib import Path

from contracts.naming import labels
from e2e.rig.kube import Kube
from e2e.simulation.kubelet import Kubelet
from e2e.simulation.servers import Servers
from runtime.builtin_kinds import POD
from runtime.cache.informers import InformerSet
from runtime.cache.selection import Selection
from runtime.client.client import Client
from runtime.client.credentials import from_kubeconfig
from runtime.clock import SystemClock
from runtime.controller.controller import Controller
from runtime.controller.handler import enqueue_object
from runtime.metrics.metrics import Metrics
from runtime.process.logs import configure

WORKERS = 16


async def simulate(kubeconfig: str) -> None:
    """Run until the process gets a signal."""
    clock, metrics = SystemClock(), Metrics()
    configure(clock, level="warning")
    client = Client(
        await from_kubeconfig(kubeconfig, None, clock),
        user_agent="kubelet",
        clock=clock,
    )
    informers = InformerSet(client, clock=clock, rng=random.SystemRandom(), metrics=metrics)
    pods = informers.informer(Selection(POD, label_selector=labels.CLUSTER))
    servers = Servers()
    kubelet = Kubelet(client, Kube.from_kubeconfig(Path(kubeconfig)), pods, servers)
    controller = Controller("kubelet", kubelet, clock=clock, metrics=metrics, workers=WORKERS)
    servers.on_change = controller.enqueue
    controller.watch(pods, enqueue_object)
    await servers.listen()
    async with asyncio.TaskGroup() as group:
        group.create_task(informers.run())
        group.create_task(controller.run())


if __name__ == "__main__":
    asyncio.run(simulate(sys.argv[1]))
