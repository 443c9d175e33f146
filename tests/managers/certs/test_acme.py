"""managers.certs.acme: what servers need to fetch their certificates, and the claim they share."""

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
    return gen.cluster().wanting(tls={"mode": "ACME", "acme": settings})


MANAGED = cluster(
    sharedCache={"mode": "ManagedPVC", "size": "2Gi", "storageClassName": "nfs"},
    caSecretRef={"name": "roots"},
)
EXISTING = cluster(sharedCache={"mode": "ExistingPVC", "existingClaimName": "mine"})


def planned(wish: gen.Cluster, *secrets: SecretFacts, claim: NamedPvcFacts | None = None) -> Plan:
    world = gen.world().with_secrets(*secrets)
    return plan(gen.resolved(wish, world), replace(world.facts(), acme_claim=claim))


# sentence: (wish, Secrets, claim, reason, words)
ROWS: dict[str, tuple[gen.Cluster, tuple[SecretFacts, ...], NamedPvcFacts | None, str, str]] = {
    "all is there": (MANAGED, (ROOTS,), CLAIM, "", ""),
    "the authorities are not there": (MANAGED, (), CLAIM, "TLSSecretMissing", "Secret roots"),
    "one of them is not": (
        MANAGED,
        (replace(ROOTS, entries=frozenset({"ca.crt"})),),
        CLAIM,
        "TLSSecretInvalid",
        "pki-ca.crt missing",
    ),
    "they cannot be read": (
        MANAGED,
        (replace(ROOTS, trusted=(), problem="it is soup"),),
        CLAIM,
        "TLSSecretInvalid",
        "soup",
    ),
    "the claim is not there": (MANAGED, (ROOTS,), None, "PrerequisitesMissing", "x-acme-cache"),
    "a claim of somebody else": (
        MANAGED,
        (ROOTS,),
        replace(CLAIM, owner_uid="uid-y"),
        "ACMECacheInvalid",
        "not owned by this cluster",
    ),
    "a claim that is being deleted": (
        MANAGED,
        (ROOTS,),
        replace(CLAIM, terminating=True),
        "ACMECacheInvalid",
        "deleted",
    ),
    "the claim of the user is not there": (EXISTING, (), None, "PrerequisitesMissing", "mine"),
    "the claim of the user is for one node": (
        EXISTING,
        (),
        NamedPvcFacts("mine", "", False, ("ReadWriteOnce",)),
        "ACMECacheInvalid",
        "ReadWriteOnce",
    ),
    "the claim of the user is good": (
        EXISTING,
        (),
        NamedPvcFacts("mine", "", False, (SHARED_MODE,)),
        "",
        "",
    ),
}


@pytest.mark.parametrize(
    ("wish", "secrets", "claim", "reason", "words"), ROWS.values(), ids=ROWS.keys()
)
def test_row(
    wish: gen.Cluster,
    secrets: tuple[SecretFacts, ...],
    claim: NamedPvcFacts | None,
    reason: str,
    words: str,
) -> None:
    made = planned(wish, *secrets, claim=claim)
    if not reason:
        assert isinstance(made.outcome, Done)
        assert not made.gate
        return
    assert isinstance(made.outcome, Blocked | Wait)
    assert (made.outcome.reason, made.gate) == (reason, True)
    assert words in made.outcome.message


async def test_the_claim_outlives_the_cluster_and_is_never_written_twice() -> None:
    outside, meant = Outside(), gen.resolved(MANAGED)
    effect = MakeAcmeCacheClaim("x-acme-cache")
    assert planned(MANAGED, ROOTS).effects == (effect,)
    await EFFECTS[type(effect)](outside.context, meant, effect)
    (claim,) = outside.api.of(PVC)
    assert claim["spec"] == {
        "accessModes": [SHARED_MODE],
        "resources": {"requests": {"storage": "2Gi"}},
        "storageClassName": "nfs",
    }
    assert claim["metadata"]["annotations"] == {"openbao.org/owner-uid": "uid-x"}
    assert "ownerReferences" not in claim["metadata"]
    await EFFECTS[type(effect)](outside.context, meant, effect)
    assert outside.api.of(PVC) == [claim]
