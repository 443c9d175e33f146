"""docs/datacenters.md matches the code: manifests, examples, tables, names and numbers."""

import asyncio
import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from pydantic import TypeAdapter

from contracts.api.unknown_fields import unknown_fields
from contracts.datacenter.grants import (
    NO_ACCESS,
    NodeAccess,
    ObjectKind,
    node_access_violations,
    object_kind_violations,
)
from contracts.datacenter.kinds import DATACENTER_KIND, SERVICE_SET_KIND
from contracts.datacenter.objects import (
    BootstrapServiceSet,
    Datacenter,
    DatacenterSpec,
    ServiceSetSpec,
)
from contracts.datacenter.reasons import DATACENTER_REASONS, NO_CONFLICTS, READY, SOURCES_READY
from contracts.datacenter.rules.all_rules import (
    datacenter_violations,
    read_services,
    set_violations,
)
from contracts.datacenter.workload_records import DatacenterInfo
from managers.datacenter import metrics
from managers.datacenter.backoff import BASE, CAP, JITTER, STABLE_AFTER
from managers.datacenter.lifecycle import state_machine
from managers.datacenter.lifecycle.plan import GATES
from managers.datacenter.lifecycle.state_machine import REFUSALS
from managers.datacenter.provider import vault
from managers.datacenter.provider.kubernetes import KubernetesProvider
from managers.datacenter.provider.other_kinds import ObjectsProvider
from managers.datacenter.reconcile import DEGRADED_HOOK_INTERVAL, HOOK_INTERVAL
from managers.datacenter.sources import entry_points, hooks
from tests.house.documents import manifests
from tests.managers.datacenter.service_bench import BUSY, FRA, SHIPPER, Bench, StaticHook

PAGE = (Path(__file__).parents[3] / "docs" / "datacenters.md").read_text(encoding="utf-8")
WORDS = re.sub(r"\s+", " ", PAGE)
CODE = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
EDGE = DatacenterInfo(name="fra1", uid="1", namespace="dc-fra1", labels={"tier": "edge"})
CORE = DatacenterInfo(name="ams1", uid="2", namespace="dc-ams1")
WHO: Final = {"shipper": "BootstrapWorkload", FRA.name: "Datacenter"}
YES_NO: Final = {True: "yes", False: "no"}


def rows_of(heading: str) -> list[list[str]]:
    """The cells of the table whose heading starts like this."""
    _, section, rest = PAGE.partition(f"\n| {heading}")
    assert section, heading
    lines = rest.partition("\n\n")[0].split("\n")[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def example_of(kind: str) -> dict[str, Any]:
    (manifest,) = [each for each in manifests(PAGE) if each["kind"] == kind]
    return manifest


def test_the_datacenter_is_valid() -> None:
    obj = example_of(DATACENTER_KIND)
    assert list(unknown_fields(obj["spec"], DatacenterSpec)) == []
    read = Datacenter.from_object(obj)
    assert datacenter_violations(read) == ()
    assert [bootstrap_service.name for bootstrap_service in read.spec.bootstrap_services or ()] == [
        "vault",
        "log-shipper",
    ]


def test_the_set_is_valid() -> None:
    obj = example_of(SERVICE_SET_KIND)
    assert list(unknown_fields(obj["spec"], ServiceSetSpec)) == []
    assert set_violations(BootstrapServiceSet.from_object(obj)) == ()


def _snippet(first: str) -> dict[str, Any]:
    """The YAML snippet that starts like this."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (match,) = [block for block in blocks if block.startswith(first)]
    read: dict[str, Any] = yaml.safe_load(match)
    return read


def test_the_node_agent_uses_only_the_allowed_node_access() -> None:
    allowed = _snippet("# in spec of the Datacenter, by a user with the verb\n")["nodeAccess"]
    access = NodeAccess.model_validate(allowed, extra="forbid")
    (agent,) = read_services([_snippet("# in bootstrapServices, in a B")], "services")
    assert list(node_access_violations(agent, access, "fra1")) == []
    assert len(list(node_access_violations(agent, NO_ACCESS, "fra1"))) == 2


def test_the_objects_have_only_allowed_kinds() -> None:
    kinds = TypeAdapter(tuple[ObjectKind, ...]).validate_python(
        _snippet("# in spec of the Datacenter, by a user with the verbs")["objectKinds"]
    )
    blocks = re.findall(r"^```yaml\n(# three services.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    bodies = read_services(yaml.safe_load(blocks[0]), "services")
    assert [body.kind for body in bodies] == ["Objects", "Deployment", "Objects"]
    assert [
        violation for body in bodies for violation in object_kind_violations(body, kinds, "fra1")
    ] == []


def test_the_hook_returns_valid_services() -> None:
    namespace: dict[str, Any] = {}
    exec(CODE[0], namespace)  # noqa: S102 - the example of a page is run as its reader would
    hook = namespace["NetworkHook"]()
    context = hooks.HookContext(hooks.DEADLINE, hooks.log)
    (service,) = read_services(asyncio.run(hook.services(context, EDGE)), "services")
    assert (service.name, service.kind) == ("resolver", "DaemonSet")
    assert asyncio.run(hook.services(context, CORE)) == []
    assert f'entry-points."{entry_points.GROUP}"' in PAGE
    assert f"`ctx.deadline` seconds ({hooks.DEADLINE:g})" in WORDS
    assert f"takes longer than {hooks.DEADLINE:g} s" in WORDS
    assert f"called again after {DEGRADED_HOOK_INTERVAL:g} s" in WORDS
    assert HOOK_INTERVAL == 300.0
    assert "every five minutes" in WORDS
    assert hooks.THREADS == 4
    assert "once four of its calls hang" in WORDS


def test_the_embedding_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(CODE[1], {})  # noqa: S102 - the example of a page is run as its reader would
    assert capsys.readouterr().out.splitlines()[-1] == str(
        {"log-shipper": "Running", "resolver": "Running"}
    )


def test_the_documented_states_are_those_of_the_table() -> None:
    documented = re.findall(r"^\| (\w+) \| (.+) \|$", state_machine.__doc__ or "", re.MULTILINE)
    assert [tuple(row) for row in rows_of("state | meaning")] == documented[1:]
    assert tuple(state for state, _ in documented[1:]) == state_machine.STATES


def test_the_documented_gates_are_those_of_the_code() -> None:
    gates = {state: tuple(cells) for state, *cells in rows_of("`spec.state`")}
    assert gates == {
        state: (
            YES_NO[gate.writes],
            YES_NO[gate.prunes],
            YES_NO[state != "Offline"],
            "all services retire" if gate.writes else "waits, and reports it",
        )
        for state, gate in GATES.items()
    }


def test_every_reason_is_documented_with_its_condition() -> None:
    reasons = {reason: (meaning, step) for _, reason, meaning, step in rows_of("condition")}
    assert reasons == {
        name: (reason.meaning, reason.next_step) for name, reason in DATACENTER_REASONS.items()
    }
    assert {kind for kind, *_ in rows_of("condition")} == {READY, SOURCES_READY, NO_CONFLICTS}


def test_every_error_of_the_provider_is_documented() -> None:
    promised = {
        word
        for method in (
            KubernetesProvider.provision,
            KubernetesProvider.deprovision,
            ObjectsProvider.provision,
        )
        for word in re.findall(
            r"\b[A-Z]\w+\b", (method.__doc__ or "").partition("ProviderError:")[2]
        )
    } - {"LeaseLost", "KubernetesProvider"}
    assert {reason for reason, *_ in rows_of("`lastError.reason`")} == promised | REFUSALS


def test_every_metric_is_documented() -> None:
    rows = {(name.strip("`"), label) for name, _, label, _ in rows_of("metric")}
    assert rows == {(metrics.SERVICES, "state"), (metrics.READY, "name"), (metrics.FAILED, "name")}


def test_every_event_is_documented() -> None:
    bench, loser, broken = Bench(), StaticHook("loser", SHIPPER), StaticHook("broken")
    broken.error = RuntimeError("away")
    for hook in (loser, broken):
        bench.registry.register(hook)
    bench.provider.fail("provision shipper", BUSY)

    async def life() -> None:
        await bench.run()
        await bench.clock.advance(2 * CAP.total_seconds())
        await bench.run()
        loser.bodies = ()
        for _ in range(2):
            await bench.run(declared=())

    asyncio.run(life())
    events_sent = {(reason, kind, WHO[name]) for name, kind, reason in bench.events_sent}
    assert {(reason, kind, about) for reason, kind, about, _ in rows_of("event")} == events_sent


def test_the_variables_of_dependents_are_documented() -> None:
    names = {name.strip("`") for name, _ in rows_of("variable")}
    assert names == {vault.ADDRESS, vault.AUTHORITY, vault.ROLES}
    assert f"`{vault.AUTHORITY_DIRECTORY}/ca.crt`" in PAGE


def test_the_documented_retry_intervals_are_those_of_the_code() -> None:
    assert (BASE.seconds, (2 * BASE).seconds, (4 * BASE).seconds) == (5, 10, 20)
    assert (CAP.seconds, STABLE_AFTER.seconds, JITTER) == (600, 600, 0.2)
    assert "after 5 s, 10 s, 20 s and so on up to 10 min, with a jitter of 20 %" in WORDS
    assert "or ten minutes of Running, resets the backoff" in WORDS
