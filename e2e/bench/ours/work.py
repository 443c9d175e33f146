"""Modes about work: reconciles that do nothing, reconciles of children, and applies."""

import asyncio
from collections.abc import Callable

from e2e.bench.ours.process import SETTLING_SECONDS, Flags, Process
from e2e.bench.ours.usage import Results, Usage
from runtime.apply.apply import OwnedApply
from runtime.apply.apply_cache import ApplyCache
from runtime.apply.intent import Intent
from runtime.apply.ownership import Owner, OwnershipKeys
from runtime.builtin_kinds import CONFIG_MAP, ROLE, ROLE_BINDING, SERVICE, SERVICE_ACCOUNT
from runtime.cache.informer import Selection
from runtime.outcome import Done, Outcome
from runtime.types import Object, Request, Resource, key_of, uid_of

OWNERSHIP_KEYS = OwnershipKeys(
    "bench.example.com/owner", "bench.example.com/intent", "bench.example.com/adopt"
)
CHILDREN = (CONFIG_MAP, SERVICE, SERVICE_ACCOUNT, ROLE, ROLE_BINDING)


async def noop(process: Process, flags: Flags) -> Results:
    """Measure queue and controller with a reconciler that does nothing."""
    calls = 0

    async def reconcile(request: Request) -> Outcome:
        nonlocal calls
        calls += 1
        return Done()

    controller = process.controller(reconcile, flags.workers)
    process.start()
    all_requests = flags.requests("none")
    begin = Usage.now()
    for round_number in range(1, flags.rounds + 1):
        for request in all_requests:
            controller.enqueue(request)
        await _await_calls(lambda: calls, round_number * flags.count)
    return begin.until(Usage.now())


async def _await_calls(calls: Callable[[], int], count: int) -> None:
    """Wait until the reconciler was called that often."""
    while calls() < count:  # noqa: ASYNC110  an event would be part of what is measured
        await asyncio.sleep(0.0001)


async def passes(process: Process, flags: Flags) -> Results:
    """Reconcile parents with six unchanged children each."""
    parents = process.informers.informer(Selection(CONFIG_MAP, flags.namespace, "bench=parent"))
    children = {
        resource: process.informers.informer(Selection(resource, flags.namespace, "bench=child"))
        for resource in CHILDREN
    }
    owned = OwnedApply(
        process.client,
        children,
        field_manager="bench",
        marks=OWNERSHIP_KEYS,
        metrics=process.metrics,
        apply_cache=ApplyCache(process.clock, process.rng),
    )
    calls = 0

    async def reconcile(request: Request) -> Outcome:
        nonlocal calls
        parent = parents.get(request)
        if parent is not None:
            owner = Owner("v1", "ConfigMap", request.namespace, request.name, uid_of(parent))
            await owned.ensure_all(owner, intents(parent))
        calls += 1
        return Done()

    controller = process.controller(reconcile, flags.workers)
    process.start()
    await process.informers.wait_synced(600.0)
    all_requests = flags.requests("parent")
    for request in all_requests:
        controller.enqueue(request)
    await _await_calls(lambda: calls, flags.count)
    await asyncio.sleep(SETTLING_SECONDS)
    writes, done, begin = _writes(process), calls, Usage.now()
    for round_number in range(1, flags.rounds + 1):
        for request in all_requests:
            controller.enqueue(request)
        await _await_calls(lambda: calls, done + round_number * flags.count)
    usage = begin.until(Usage.now())
    count = flags.rounds * flags.count
    return usage | {"passes": count, "made": writes, "writes": _writes(process) - writes}


def _writes(process: Process) -> float:
    """Count the applies that were sent so far."""
    families = process.metrics.registry.collect()
    return sum(
        sample.value
        for family in families
        if family.name == "apply"
        for sample in family.samples
        if sample.labels["outcome"] != "skipped"
    )


def intents(parent: Object) -> list[Intent]:
    """The same six children as those of the Go program."""
    namespace, name = key_of(parent)
    labels = {"bench": "child", "parent": name}
    port = {"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    bodies: list[tuple[Resource, str, Object]] = [
        (CONFIG_MAP, "-a", {"data": {"config": "a=1\n" * 100}}),
        (CONFIG_MAP, "-b", {"data": {"config": "b=1\n" * 100}}),
        (SERVICE, "", {"spec": {"selector": {"parent": name}, "ports": [port]}}),
        (SERVICE_ACCOUNT, "", {"automountServiceAccountToken": False}),
        (ROLE, "", {"rules": [rule]}),
        (ROLE_BINDING, "", {"roleRef": reference, "subjects": [subject]}),
    ]
    return [
        Intent(
            of,
            {
                "apiVersion": of.api_version,
                "kind": of.kind,
                "metadata": {"namespace": namespace, "name": name + suffix, "labels": labels},
                **body,
            },
        )
        for of, suffix, body in bodies
    ]


async def applies(process: Process, flags: Flags) -> Results:
    """Send server-side applies, each with another value."""
    numbers = iter(range(flags.count))
    over = flags.count // flags.rounds

    async def worker() -> None:
        for number in numbers:
            name = f"applied-{number % over:04d}"
            body = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"namespace": flags.namespace, "name": name},
                "data": {"config": "x" * 1000, "number": str(number)},
            }
            await process.client.apply(CONFIG_MAP, body, field_manager="bench", force=True)

    begin = Usage.now()
    await asyncio.gather(*(worker() for _ in range(flags.workers)))
    return begin.until(Usage.now())
