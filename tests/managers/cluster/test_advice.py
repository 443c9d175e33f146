"""managers.cluster.status.conditions: blockers of ProductionReady, the most severe first."""

from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from contracts.records.environment import AdmissionFacts
from managers.cluster.status.conditions import findings
from managers.cluster.status.inputs import ConditionFacts
from runtime.outcome import Done
from tests import gen

FINE = gen.running(gen.cluster().initialized())
WITHOUT_TOKEN = FINE.without_secrets("x-root-token")
EXTERNAL = {"mode": "External"}
KMS = {"type": "awskms"}


def advice(
    world: gen.World,
    unserved: tuple[str, ...],
    *,
    admission: AdmissionFacts | None = None,
    **spec: Any,
) -> str:
    """Status and reason of ProductionReady, without unsupported fields."""
    facts = ConditionFacts(
        name="x",
        spec=gen.cluster(**spec).read().spec,
        observed=replace(world.facts(), admission=admission),
        outcome=Done(),
        initialized=True,
        raft=None,
        autopilot=None,
        error=None,
        was_running=True,
        unserved=unserved,
        conflicts=(),
        server_secret="x-tls-server",
    )
    (finding,) = [found for found in findings(facts) if found.type == "ProductionReady"]
    return f"{finding.status} {finding.reason}"


class Row(NamedTuple):
    world: gen.World
    unserved: tuple[str, ...]
    spec: dict[str, Any]
    advice: str


ROWS = {
    "nobody said what it is for": Row(FINE, (), {}, "False ProfileNotSet"),
    "it is for development": Row(FINE, (), {"profile": "Development"}, "False DevelopmentProfile"),
    "a field has no effect": Row(
        FINE, ("spec.backup is not built",), {"profile": "Hardened"}, "False UnsupportedFields"
    ),
    "we hold the key of the authority": Row(
        FINE, (), {"profile": "Hardened"}, "False OperatorManagedTLS"
    ),
    "the seal's key lies beside the data": Row(
        FINE, (), {"profile": "Hardened", "tls": EXTERNAL}, "False StaticUnsealInUse"
    ),
    "a root token lies in a Secret": Row(
        FINE, (), {"profile": "Hardened", "tls": EXTERNAL, "unseal": KMS}, "False RootTokenStored"
    ),
    "one server too many or too few": Row(
        WITHOUT_TOKEN,
        (),
        {"profile": "Hardened", "tls": EXTERNAL, "unseal": KMS, "replicas": 4},
        "False EvenReplicas",
    ),
    "nothing speaks against it": Row(
        WITHOUT_TOKEN,
        (),
        {"profile": "Hardened", "tls": EXTERNAL, "unseal": KMS},
        "True ProductionReady",
    ),
}


@pytest.mark.parametrize(("world", "unserved", "spec", "message"), ROWS.values(), ids=ROWS.keys())
def test_row(
    world: gen.World, unserved: tuple[str, ...], spec: dict[str, Any], message: str
) -> None:
    assert advice(world, unserved, **spec) == message


FIT = {"profile": "Hardened", "tls": EXTERNAL, "unseal": KMS}
LACKING = AdmissionFacts(missing=("lock-managed-scale",))


def test_admission_policies_count_last() -> None:
    assert advice(WITHOUT_TOKEN, (), **FIT, admission=AdmissionFacts()) == "True ProductionReady"
    assert advice(WITHOUT_TOKEN, (), **FIT, admission=LACKING) == "False AdmissionPoliciesMissing"
    uneven = advice(WITHOUT_TOKEN, (), **FIT, replicas=4, admission=LACKING)
    assert uneven == "False EvenReplicas"
