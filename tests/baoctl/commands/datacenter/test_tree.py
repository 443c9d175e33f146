"""The tree of `baoctl datacenter status`: its lines, its nesting, and hostile texts."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baoctl.commands.datacenter.reading import view_of
from baoctl.commands.datacenter.tree import as_text, color_text
from baoctl.commands.datacenter.view import UNREADABLE, ServiceView, View, as_json
from contracts.datacenter.names import OPENBAO_READY
from contracts.datacenter.workload_records import ServiceProgress
from runtime.types import Object
from tests.baoctl.datacenter_bench import (
    FAILING,
    NOW,
    READY,
    condition,
    failed_service,
    live_datacenter,
    live_workload,
    source,
)
from tests.managers.datacenter.bodies import desired_service, openbao, service

RUNS = ServiceProgress("Running", ready="1/1")
VAULT = desired_service(openbao("vault"))
SHIPPER = desired_service(
    service("log-shipper", kind="DaemonSet", depends_on=(OPENBAO_READY,)), "set/logging"
)
AGENT = desired_service(service("agent", depends_on=("log-shipper",)), "set/logging")
VAULT_RUNS = ServiceProgress(
    "Running",
    ready="3/3",
    provider_ref="OpenBaoCluster dc-fra1/fra1-vault",
    service_refs=(("vault", "Service dc-fra1/fra1-v"),),
)
CONFLICT = condition("NoConflicts", "False", "Conflict", "service agent: set/a and set/b give it")


def unreadable_workload() -> Object:
    """A workload with a body that no version of the operator writes."""
    obj = live_workload(desired_service(service("broken")), RUNS)
    obj["spec"]["service"]["kind"] = "Job"
    return obj


def sight() -> View:
    """A datacenter with every kind of error."""
    objects = [
        live_workload(VAULT, VAULT_RUNS),
        live_workload(SHIPPER, failed_service(ready="0/1")),
        live_workload(
            AGENT, ServiceProgress("Pending", "waiting for these services to run: log-shipper")
        ),
        live_workload(desired_service(service("exporter"), "hook/network"), RUNS),
        unreadable_workload(),
    ]
    sources = (
        source("declared", 1),
        source("set/logging", 2, priority=10),
        source("hook/network", 0, error="no route to host"),
    )
    live = live_datacenter(FAILING, CONFLICT, services=5, running=2, failed=1, sources=sources)
    return view_of(live, objects)


GOLDEN = """\
fra1  Active  eu-central/eu-central-1a  namespace dc-fra1  2/5 running  Ready=False ServicesFailed
├─ sources
│  ├─ declared            1 service
│  ├─ set/logging   (10)  2 services
│  └─ hook/network        0 services, DEGRADED: no route to host (last valid response at \
2029-12-31T12:00:00Z)
├─ conflict: service agent: set/a and set/b give it
└─ services
   ├─ broken          Unreadable                                     BootstrapWorkload fra1.broken\
: spec.service.kind: must be 'Deployment', 'StatefulSet', 'DaemonSet', 'OpenBaoCluster' or \
'Objects' (got Job)
   ├─ exporter        Running     Deployment      1/1  hook/network
   └─ vault           Running     OpenBaoCluster  3/3  declared
      └─ log-shipper  Failed      DaemonSet       0/1  set/logging   attempt 3, next at 12:00:08Z \
(in 8 s): ImagePullFailed: image not found
         └─ agent     Pending     Deployment           set/logging   waiting for these \
services to run: log-shipper
"""


def test_the_tree() -> None:
    assert as_text(sight(), NOW) == GOLDEN


def test_verbose_shows_the_objects_of_each_service() -> None:
    added = [
        line
        for line in as_text(sight(), NOW, verbose=True).splitlines()
        if line not in GOLDEN.splitlines()
    ]
    assert added == [
        "      │  object: OpenBaoCluster dc-fra1/fra1-vault",
        "      │  vault: Service dc-fra1/fra1-v",
    ]


def test_the_tree_on_a_terminal_differs_only_in_colors() -> None:
    text = as_text(sight(), NOW, colorize=color_text)
    assert "\033[31mFailed    \033[0m" in text
    assert "\033[32mRunning   \033[0m" in text
    assert "\033[31mReady=False\033[0m" in text
    assert re.sub(r"\033\[\d+m", "", text) == GOLDEN


def test_an_empty_tree() -> None:
    live = live_datacenter(READY, spec={"region": None, "zone": "z1", "state": "Draining"})
    assert as_text(view_of(live, ()), NOW) == (
        "fra1  Draining  -/z1  namespace dc-fra1  0/0 running  Ready=True AllRunning\n"
        "├─ no source was read yet\n"
        "└─ no services\n"
    )


def without_status(live: Object) -> Object:
    return {name: value for name, value in live.items() if name != "status"}


def terminating(live: Object) -> Object:
    return {**live, "metadata": {**live["metadata"], "deletionTimestamp": "2030-01-01T00:00:00Z"}}


INVALID = condition("Ready", "False", "InvalidSpec", "spec.namespace: must be there")
# sentence: (Datacenter, a line of the tree, ready)
PLACES: dict[str, tuple[Object, str, bool]] = {
    "a ready datacenter": (live_datacenter(READY), "Ready=True AllRunning", True),
    "a failed service": (live_datacenter(FAILING), "Ready=False ServicesFailed", False),
    "a datacenter that is Offline": (
        live_datacenter(condition("Ready", "Unknown", "Offline", "services are not reconciled")),
        "├─ Offline: services are not reconciled", False,
    ),
    "a reason that no service reports": (
        live_datacenter(INVALID), "├─ InvalidSpec: spec.namespace: must be there", False,
    ),
    "a status of an older spec": (
        live_datacenter(READY, observed_generation=0),
        "├─ its status is for generation 0, its spec has generation 1: not reconciled yet",
        False,
    ),
    "a datacenter that was not reconciled": (
        without_status(live_datacenter()),
        "├─ not reconciled yet: check that the operator runs with DATACENTERS=true",
        False,
    ),
    "a terminating datacenter": (
        terminating(live_datacenter(READY)), "fra1  Active, being deleted  eu-central", False,
    ),
    "a spec that cannot be read": (
        live_datacenter(READY, spec={"bootstrapServices": 7}),
        "├─ its spec cannot be read: spec.bootstrapServices: must be a list (got 7)",
        True,
    ),
    "a status that cannot be read": (
        {**live_datacenter(READY), "status": {"services": "many"}},
        "├─ its status cannot be read; the operator rewrites it", False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("live", "line", "ready"), PLACES.values(), ids=PLACES.keys())
def test_the_line_of_a_datacenter(live: Object, line: str, ready: bool) -> None:
    view = view_of(live, ())
    assert line in as_text(view, NOW)
    assert (view.is_ready, view.exit_code) == (ready, 0 if ready else 3)


def test_the_message_of_a_failed_service_is_shown_once() -> None:
    assert "for a person" not in as_text(view_of(live_datacenter(FAILING), ()), NOW)


def row(progress: ServiceProgress, **metadata: Any) -> Object:
    return live_workload(desired_service(service("shipper")), progress, **metadata)


def unreadable_status() -> Object:
    return {**row(RUNS), "status": {"state": "Lost"}}


def of_another() -> Object:
    obj = live_workload(desired_service(service("shipper")), RUNS, name="ams1.shipper")
    obj["spec"]["datacenter"] = "ams1"
    return obj


GOING = {"deletionTimestamp": "2030-01-01T00:00:00Z"}
BLOCKED = "waiting for the deletion of these services: x"
WHY = "ImagePullFailed: image not found"
# sentence: (workload, state, detail after the source)
DETAILS: dict[str, tuple[Object, str, str]] = {
    "it runs": (row(replace(RUNS, message="fine")), "Running", ""),
    "it waits": (row(ServiceProgress("Pending", "waits for x")), "Pending", "waits for x"),
    "a due attempt": (
        row(failed_service(0)), "Failed", f"attempt 3, next at 12:00:00Z (due): {WHY}",
    ),
    "an attempt in less than a second": (
        row(failed_service(1)), "Failed", f"attempt 3, next at 12:00:01Z (in 1 s): {WHY}",
    ),
    "minutes": (
        row(failed_service(600, 9)), "Failed", f"attempt 9, next at 12:10:00Z (in 10 min): {WHY}",
    ),
    "tomorrow": (
        row(failed_service(86400, 9)), "Failed",
        f"attempt 9, next at 2030-01-02T12:00:00Z (in 1440 min): {WHY}",
    ),
    "an error without retries": (
        row(failed_service(None, 1)),
        "Failed",
        f"attempt 1, no retry until its spec changes: {WHY}",
    ),
    "a failed service that waits for a dependency": (
        row(failed_service(8, 3, state="Retiring", message=BLOCKED), **GOING), "Retiring",
        f"attempt 3, next at 12:00:08Z (in 8 s): {WHY}; {BLOCKED}",
    ),
    "a failed service whose spec has changed": (
        row(failed_service(8, digest="former")),
        "Failed",
        f"not reconciled since its spec changed; {WHY}",
    ),
    "a running service whose spec has changed": (
        row(replace(RUNS, digest="former")), "Running", "not reconciled since its spec changed",
    ),
    "a service that is to be deleted": (row(RUNS, **GOING), "Running", "will be removed"),
    "it goes": (
        row(ServiceProgress("Retiring", "is taken away"), **GOING), "Retiring", "is taken away",
    ),
    "a new service": (row(ServiceProgress()), "Pending", ""),
    "nothing was said yet": (live_workload(desired_service(service("shipper"))), "Pending", ""),
    "a status that cannot be read": (
        unreadable_status(), "Pending", "its status cannot be read; the operator rewrites it",
    ),
    "a workload of another datacenter": (
        of_another(), UNREADABLE,
        "BootstrapWorkload ams1.shipper: its label names fra1, its spec names ams1",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("obj", "state", "detail"), DETAILS.values(), ids=DETAILS.keys())
def test_the_line_of_a_service(obj: Object, state: str, detail: str) -> None:
    *_, line = as_text(view_of(live_datacenter(READY), [obj]), NOW).splitlines()
    head, _, message = line.partition(f"  {state}")
    assert head in ("   └─ shipper", "   └─ ams1.shipper")
    kept = re.sub(r"^ +(Deployment +)?(1/1 +)?(declared *)?", "", message)
    assert kept == detail


def test_a_time_without_a_zone_is_utc() -> None:
    obj = row(failed_service())
    obj["status"]["nextRetryTime"] = "2030-01-01T12:00:08"
    assert "(in 8 s)" in as_text(view_of(live_datacenter(), [obj]), NOW)


# --- nesting -------------------------------------------------------------------------------------


def one(name: str, *depends_on: str, kind: str = "Deployment") -> ServiceView:
    return ServiceView(name, "Running", kind, depends_on=depends_on)


def tree(*services: ServiceView) -> list[str]:
    """Every service as its name, preceded by one dot per level."""
    listed = tuple(sorted(services, key=lambda each: each.name))
    view = replace(view_of(live_datacenter(READY), ()), workloads=listed)
    lines = as_text(view, NOW).split("services\n")[1].splitlines()
    matches = [re.fullmatch(r"   ([│├└─ ]*)([^ ]+) .*", line) for line in lines]
    return ["." * (len(each[1]) // 3 - 1) + each[2] for each in matches if each]


VAULTS = (one("a", kind="OpenBaoCluster"), one("b", OPENBAO_READY, kind="OpenBaoCluster"))
# sentence: (services, depths and names)
TREES: dict[str, tuple[tuple[ServiceView, ...], list[str]]] = {
    "by name": ((one("b"), one("a"), one("c")), ["a", "b", "c"]),
    "below the first dependency": ((one("a", "c", "b"), one("b"), one("c")), ["b", "c", ".a"]),
    "below the first existing dependency": ((one("a", "x", "b"), one("b")), ["b", ".a"]),
    "without existing dependencies": ((one("a", "x", OPENBAO_READY),), ["a"]),
    "below the first vault": ((*VAULTS, one("c", OPENBAO_READY)), ["a", ".b", ".c"]),
    "a vault is not below itself": (
        (one("a", OPENBAO_READY, kind="OpenBaoCluster"),), ["a"],
    ),
    "itself": ((one("a", "a", "b"), one("b")), ["b", ".a"]),
    "a circle": ((one("a", "c"), one("b", "a"), one("c", "b")), ["a", ".b", "..c"]),
    "a dependency on a cycle": ((one("b", "c"), one("c", "b"), one("a", "c")), ["b", ".c", "..a"]),
    "two circles": (
        (one("a", "b"), one("b", "a"), one("c", "d"), one("d", "c")), ["a", ".b", "c", ".d"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("services", "expected"), TREES.values(), ids=TREES.keys())
def test_a_service_is_below_its_dependency(
    services: tuple[ServiceView, ...], expected: list[str]
) -> None:
    assert tree(*services) == expected


NAMES = st.sampled_from("abcdef")


@given(st.dictionaries(NAMES, st.lists(NAMES, max_size=3)))
def test_each_service_is_shown_once(graph: dict[str, list[str]]) -> None:
    drawn = tree(*(one(name, *depends_on) for name, depends_on in graph.items()))
    assert sorted(name.lstrip(".") for name in drawn) == sorted(graph)


def test_a_chain_of_dependencies_may_exceed_the_recursion_limit() -> None:
    names = [f"s{number:04}" for number in range(1500)]
    chain = [one(name, before) for before, name in itertools.pairwise(names)]
    assert tree(one(names[0]), *chain)[-1] == "." * 1499 + names[-1]


# --- hostile texts ------------------------------------------------------------------------------

HOSTILE = "\033[2J\r\n\u202edrawkcab\x07\x9b"
SHOWN = "\\x1b[2J\\r\\n\\u202edrawkcab\\x07\\x9b"


def test_all_text_is_escaped() -> None:
    shown = row(
        failed_service(provider_ref=HOSTILE, service_refs=((HOSTILE, HOSTILE),), ready=HOSTILE)
    )
    shown["status"] |= {"message": HOSTILE}
    shown["status"]["lastError"] |= {"message": f"x{HOSTILE}", "reason": HOSTILE}
    shown["spec"]["source"]["name"] = HOSTILE
    live = live_datacenter(
        condition("Ready", "False", "InvalidSpec", HOSTILE),
        condition("NoConflicts", "False", "Conflict", HOSTILE),
        sources=(source(HOSTILE, error=HOSTILE),),
        spec={name: HOSTILE for name in ("namespace", "region", "zone", "state")},
    )
    view = view_of(live, [shown])
    text = as_text(view, NOW, verbose=True)
    assert {char for char in text if not char.isprintable()} == {"\n"}
    # All of them are shown: 4 in the header, 2 of the source, 2 conditions, 5 and 3 of the service.
    new_text = text.replace(
        next(line for line in text.splitlines() if "cannot be read" in line), ""
    )
    assert new_text.count(SHOWN) == 4 + 2 + 2 + 5 + 3
    assert len(text.splitlines()) == 10
    assert json.loads(as_json(view))["workloads"][0]["message"] == HOSTILE
    assert {char for char in as_json(view) if not " " <= char <= "~"} == {"\n"}
