"""managers.certs.acme: the prerequisites of mode ACME, and the shared PVC."""

from dataclasses import replace

import pytest

from contracts.builders.rwx_pvc import SHARED_MODE
from contracts.records.desired import Plan
from contracts.records.effects import MakeAcmeCacheClaim
from contracts.records.observed import NamedPvcFacts
from contracts.records.secrets import SecretFacts
from managers.certs.plan import plan
from managers.cluster.apply.actions import EFFECTS
from runtime.builtin_kinds import PVC
from runtime.outcome import Blocked, Done, Wait
from tests import gen
from tests.gen.api import Outside

ROOTS = replace(
    gen.secret("roots", of="nobody", problem="ca.key missing"),
    entries=frozenset({"ca.crt", "pki-ca.crt"}),
    trusted=("root",),
)
CLAIM = NamedPvcFacts("x-acme-cache", "uid-x", False, (SHARED_MODE,))


def cluster(**acme: object) -> gen.Cluster:
    settings = {"directoryURL": "https://acme.example.com/dir", **acme}
    return gen.cluster().with_spec(tls={"mode": "ACME", "acme": settings})


MANAGED = cluster(
    sharedCache={"mode": "ManagedPVC", "size": "2Gi", "storageClassName": "nfs"},
    caSecretRef={"name": "roots"},
)
EXISTING = cluster(sharedCache={"mode": "ExistingPVC", "existingClaimName": "mine"})


def plan_certificates(
    of: gen.Cluster, *secrets: SecretFacts, claim: NamedPvcFacts | None = None
) -> Plan:
    world = gen.world().with_secrets(*secrets)
    return plan(gen.resolved(of, world), replace(world.facts(), acme_claim=claim))


# sentence: (cluster, Secrets, PVC, reason, words of the message)
ROWS: dict[str, tuple[gen.Cluster, tuple[SecretFacts, ...], NamedPvcFacts | None, str, str]] = {
    "all prerequisites exist": (MANAGED, (ROOTS,), CLAIM, "", ""),
    "the Secret is missing": (MANAGED, (), CLAIM, "TLSSecretMissing", "Secret roots"),
    "one entry is missing": (
        MANAGED,
        (replace(ROOTS, entries=frozenset({"ca.crt"})),),
        CLAIM,
        "TLSSecretInvalid",
        "pki-ca.crt missing",
    ),
    "its content is invalid": (
        MANAGED,
        (replace(ROOTS, trusted=(), problem="it is soup"),),
        CLAIM,
        "TLSSecretInvalid",
        "soup",
    ),
    "the PVC is missing": (MANAGED, (ROOTS,), None, "PrerequisitesMissing", "x-acme-cache"),
    "a foreign PVC": (
        MANAGED,
        (ROOTS,),
        replace(CLAIM, owner_uid="uid-y"),
        "ACMECacheInvalid",
        "not owned by this cluster",
    ),
    "a PVC that is being deleted": (
        MANAGED,
        (ROOTS,),
        replace(CLAIM, terminating=True),
        "ACMECacheInvalid",
        "deleted",
    ),
    "the PVC of the user is missing": (EXISTING, (), None, "PrerequisitesMissing", "mine"),
    "the PVC of the user is ReadWriteOnce": (
        EXISTING,
        (),
        NamedPvcFacts("mine", "", False, ("ReadWriteOnce",)),
        "ACMECacheInvalid",
        "ReadWriteOnce",
    ),
    "the PVC of the user is valid": (
        EXISTING,
        (),
        NamedPvcFacts("mine", "", False, (SHARED_MODE,)),
        "",
        "",
    ),
}


@pytest.mark.parametrize(
    ("of", "secrets", "claim", "reason", "words"), ROWS.values(), ids=ROWS.keys()
)
def test_row(
    of: gen.Cluster,
    secrets: tuple[SecretFacts, ...],
    claim: NamedPvcFacts | None,
    reason: str,
    words: str,
) -> None:
    step = plan_certificates(of, *secrets, claim=claim)
    if not reason:
        assert isinstance(step.outcome, Done)
        assert not step.gate
        return
    assert isinstance(step.outcome, Blocked | Wait)
    assert (step.outcome.reason, step.gate) == (reason, True)
    assert words in step.outcome.message


async def test_the_pvc_has_no_owner_and_is_never_written_twice() -> None:
    outside, resolved = Outside(), gen.resolved(MANAGED)
    effect = MakeAcmeCacheClaim("x-acme-cache")
    assert plan_certificates(MANAGED, ROOTS).effects == (effect,)
    await EFFECTS[type(effect)](outside.context, resolved, effect)
    (claim,) = outside.api.of(PVC)
    assert claim["spec"] == {
        "accessModes": [SHARED_MODE],
        "resources": {"requests": {"storage": "2Gi"}},
        "storageClassName": "nfs",
    }
    assert claim["metadata"]["annotations"] == {"openbao.org/owner-uid": "uid-x"}
    assert "ownerReferences" not in claim["metadata"]
    await EFFECTS[type(effect)](outside.context, resolved, effect)
    assert outside.api.of(PVC) == [claim]
