"""managers.tenancy.gate: which clusters may be reconciled, by the status of their tenants."""

from typing import Any

import pytest

from contracts.api.group import TENANTS
from contracts.tenancy import access_of
from managers.tenancy.gate import ReadGate, TenantGate, all_of, open_gate, target_of
from runtime.outcome import Wait
from runtime.types import Object, key_of
from tests import gen
from tests.gen.api import StillInformer

LIVE = gen.cluster().object()
NAMESPACE, NAME = key_of(LIVE)
DIGEST = access_of(LIVE).digest


def tenant(name: str = "t", target: str = NAMESPACE, **status: Any) -> Object:
    return {
        "apiVersion": TENANTS.api_version,
        "kind": TENANTS.kind,
        "metadata": {"namespace": "operators", "name": name, "uid": name, "resourceVersion": "5"},
        "spec": {"targetNamespace": target},
        "status": status,
    }


def grant(digest: str = DIGEST, name: str = NAME) -> dict[str, str]:
    return {"cluster": name, "secrets": digest}


OPEN = tenant(provisioned=True, grants=[grant()])
LEAVING = {**OPEN, "metadata": {**OPEN["metadata"], "deletionTimestamp": "2030-01-01T00:00:00Z"}}

# sentence: (tenants, the reason of the wait; "" for none)
CASES: dict[str, tuple[list[Object], str]] = {
    "no tenant": ([], "TenantNotProvisioned"),
    "a tenant of another namespace": (
        [tenant(target="other", provisioned=True, grants=[grant()])],
        "TenantNotProvisioned",
    ),
    "a tenant without a status": ([tenant()], "TenantNotProvisioned"),
    "a refused tenant": (
        [tenant(provisioned=False, grants=[grant()])],
        "TenantNotProvisioned",
    ),
    "an invalid status": ([tenant(provisioned="yes", grants="all")], "TenantNotProvisioned"),
    "invalid grants": (
        [tenant(provisioned=True, grants=["all", {"cluster": 1}])],
        "SecretAccessPending",
    ),
    "no granted Secrets yet": ([tenant(provisioned=True)], "SecretAccessPending"),
    "granted Secrets of another cluster": (
        [tenant(provisioned=True, grants=[grant(name="y")])],
        "SecretAccessPending",
    ),
    "granted Secrets of an older spec": (
        [tenant(provisioned=True, grants=[grant("0" * 16)])],
        "SecretAccessPending",
    ),
    "everything is granted": ([OPEN], ""),
    "one of two tenants grants it": ([tenant("a", provisioned=True), OPEN], ""),
    "a terminating tenant still grants": ([LEAVING], ""),
    "an invalid spec": ([{**OPEN, "spec": "all"}], "TenantNotProvisioned"),
}


@pytest.mark.parametrize(("there", "reason"), CASES.values(), ids=CASES.keys())
def test_a_cluster_waits_for_its_tenant(there: list[Object], reason: str) -> None:
    tenants = StillInformer(TENANTS)
    gate = TenantGate(tenants)
    tenants.says(*there)
    held = gate(LIVE)
    assert (held.reason if held else "") == reason
    assert held is None or held.after is None, "the watch of tenants triggers the reconcile"
    assert gate.is_provisioned(NAMESPACE) is (reason != "TenantNotProvisioned")


def test_an_unread_namespace_is_waited_for() -> None:
    assert NAMESPACE in gen.present(ReadGate(lambda namespace: namespace == "other")(LIVE)).message
    assert ReadGate(lambda namespace: namespace == NAMESPACE)(LIVE) is None


def test_the_first_closed_gate_decides() -> None:
    first, second = Wait("One", "one"), Wait("Two", "two")
    assert all_of(open_gate, lambda _: first, lambda _: second)(LIVE) == first
    assert all_of(open_gate, open_gate)(LIVE) is None


def test_the_target_namespace_of_a_tenant() -> None:
    assert (target_of(tenant()), target_of({"spec": {"targetNamespace": 1}})) == (NAMESPACE, "")
    assert target_of({}) == ""
