"""CA rotation: all steps, with pods that are late and with crashes.

The Secrets are in a fake API server; a test decides when a pod reads them.
"""

import base64
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from contracts.records.effects import (
    DropAuthority,
    Effect,
    EffectByUid,
    IssueServerCertificate,
    PrepareAuthority,
    PromoteAuthority,
)
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from contracts.records.secrets import SecretFacts
from managers.certs import chain, secret_data
from managers.certs.ca_rotation import next_step
from managers.certs.plan import plan
from managers.cluster.apply.actions import EFFECTS
from managers.cluster.observe.from_objects import secret_facts, secret_reading
from managers.context.context import Context
from runtime.builtin_kinds import SECRET
from runtime.errors import Transient
from runtime.outcome import Done, timer_of
from runtime.types import ObjectKey
from tests import gen
from tests.gen.api import Outside

OVERLAP = timedelta(hours=1)
CA, SERVER = (ObjectKey(gen.NAMESPACE, f"x-tls-{part}") for part in ("ca", "server"))
CLUSTER = gen.cluster().with_spec(tls={"caOverlap": "1h"})
ASKED = gen.cluster().with_spec(tls={"caOverlap": "1h", "rotateCAAt": "now"})


@dataclass
class RotatingCluster:
    """One cluster with three pods; `served` and `bundles` are the files that each pod has read."""

    resolved: Resolved = field(default_factory=lambda: gen.resolved(CLUSTER))
    outside: Outside = field(default_factory=Outside)
    served: list[bytes] = field(default_factory=lambda: [b""] * 3)
    bundles: list[bytes] = field(default_factory=lambda: [b""] * 3)

    def files_of(self, key: ObjectKey) -> dict[str, bytes]:
        live = self.outside.api.objects[(SECRET, key)]
        return {name: base64.b64decode(text) for name, text in live["data"].items()}

    def secrets(self) -> dict[str, SecretFacts]:
        api = self.outside.api.objects
        return {
            key.name: secret_facts(secret_reading(api[(SECRET, key)]), self.resolved.owner)
            for key in (CA, SERVER)
            if (SECRET, key) in api
        }

    def facts(self) -> Observed:
        pods = tuple(
            replace(gen.pod(n).ready().facts(), serves=chain.fingerprints(pem)[0] if pem else None)
            for n, pem in enumerate(self.served)
        )
        world = gen.world().at(self.outside.clock.now()).facts()
        return replace(world, secrets=self.secrets(), pods=pods)

    def reload(self, *ordinals: int) -> None:
        """Let these pods read the Secret."""
        data = self.files_of(SERVER)
        for ordinal in ordinals:
            self.served[ordinal] = data[secret_data.CERTIFICATE]
            self.bundles[ordinal] = data[secret_data.CA_CERTIFICATE]

    async def one_pass(self) -> tuple[str, ...]:
        """Plan and act once; return the names of the effects."""
        certificate_plan = plan(self.resolved, self.facts())
        for effect in certificate_plan.effects:
            await EFFECTS[type(effect)](self.outside.context, self.resolved, effect)
        return tuple(effect.name for effect in certificate_plan.effects)

    async def settle(self) -> list[str]:
        """Run passes until none has an effect; return the names of the effects."""
        done: list[str] = []
        for _ in range(10):
            effects = await self.one_pass()
            if not effects:
                return done
            done += effects
        raise AssertionError(done)

    def all_accept(self, *bundles: bytes) -> bool:
        """Return whether a client with any of these bundles accepts every pod."""
        return all(
            not chain.build(certificate, bundle).problem
            for certificate in self.served
            for bundle in bundles
        )


async def rotating_cluster() -> RotatingCluster:
    bench = RotatingCluster()
    await bench.settle()
    bench.reload(0, 1, 2)
    return bench


async def test_b28_a_ca_is_replaced_with_an_overlap() -> None:
    bench = await rotating_cluster()
    old = bench.files_of(CA)
    bench.resolved = gen.resolved(ASKED)

    # The new CA is created and trusted; it does not sign yet.
    assert await bench.settle() == ["prepare-authority", IssueServerCertificate.name]
    prepared = bench.files_of(CA)
    assert prepared[secret_data.CA_KEY] == old[secret_data.CA_KEY]
    assert len(chain.fingerprints(prepared[secret_data.CA_CERTIFICATE])) == 2
    bench.reload(0, 1, 2)
    assert bench.all_accept(old[secret_data.CA_CERTIFICATE], prepared[secret_data.CA_CERTIFICATE])
    assert await bench.settle() == []

    # After the overlap it signs; the former key is kept.
    await bench.outside.clock.advance(OVERLAP.total_seconds())
    assert await bench.settle() == ["promote-authority", IssueServerCertificate.name]
    promoted = bench.files_of(CA)
    assert promoted[secret_data.CA_KEY] == prepared[secret_data.NEXT_KEY]
    assert promoted[secret_data.FORMER_KEY] == old[secret_data.CA_KEY]
    bench.reload(0)
    # Clients that read the bundle during the overlap accept both certificates.
    assert bench.all_accept(
        prepared[secret_data.CA_CERTIFICATE], promoted[secret_data.CA_CERTIFICATE]
    )
    assert all(len(chain.fingerprints(bundle)) == 2 for bundle in bench.bundles)

    # The former CA is not dropped while a pod serves a certificate of it.
    await bench.outside.clock.advance(10 * OVERLAP.total_seconds())
    assert await bench.settle() == []
    bench.reload(1, 2)
    assert await bench.settle() == ["drop-authority", IssueServerCertificate.name]
    last = bench.files_of(CA)
    assert set(last) == {secret_data.CA_CERTIFICATE, secret_data.CA_KEY}
    assert last[secret_data.CA_KEY] == prepared[secret_data.NEXT_KEY]
    bench.reload(0, 1, 2)
    assert bench.all_accept(last[secret_data.CA_CERTIFICATE])
    assert not bench.all_accept(old[secret_data.CA_CERTIFICATE])
    # The request is fulfilled: no more steps.
    await bench.outside.clock.advance(10 * OVERLAP.total_seconds())
    assert await bench.settle() == []


async def test_a_ca_near_its_expiry_is_rotated_automatically() -> None:
    bench = await rotating_cluster()
    await bench.outside.clock.advance(timedelta(days=9 * 365).total_seconds())
    assert "prepare-authority" in await bench.settle()


async def test_b28_an_expired_ca_is_replaced_immediately() -> None:
    bench = await rotating_cluster()
    await bench.outside.clock.advance(timedelta(days=3651).total_seconds())
    done = await bench.settle()
    assert done[:3] == ["prepare-authority", "promote-authority", IssueServerCertificate.name]


async def test_no_ca_is_promoted_before_every_pod_has_the_bundle() -> None:
    bench = await rotating_cluster()
    bench.resolved = gen.resolved(ASKED)
    await bench.settle()
    bench.reload(0, 1)
    await bench.outside.clock.advance(100 * OVERLAP.total_seconds())
    assert await bench.settle() == []
    outcome = gen.expect(Done, plan(bench.resolved, bench.facts()).outcome)
    assert (timer_of(outcome) or 0.0) <= 2.0


async def test_a_timer_is_set_for_the_end_of_the_overlap() -> None:
    bench = await rotating_cluster()
    bench.resolved = gen.resolved(ASKED)
    await bench.settle()
    bench.reload(0, 1, 2)
    outcome = plan(bench.resolved, bench.facts()).outcome
    assert outcome == Done(OVERLAP.total_seconds())


async def test_the_first_ca_fulfills_an_older_request() -> None:
    bench = RotatingCluster(resolved=gen.resolved(ASKED))
    assert await bench.settle() == ["issue-authority", IssueServerCertificate.name]


@pytest.mark.parametrize("dies_after", range(6))
async def test_a_new_process_continues_the_rotation(
    dies_after: int,
) -> None:
    """Each effect is one write, and the next step is derived from the stored state."""
    bench = await rotating_cluster()
    bench.resolved = gen.resolved(ASKED)
    for step in range(6):
        if step == dies_after:
            bench.outside = _new_process(bench.outside)
        for _ in range(3):
            await bench.one_pass()
        bench.reload(0, 1, 2)
        await bench.outside.clock.advance(2 * OVERLAP.total_seconds())
    bench.reload(0, 1, 2)
    assert set(bench.files_of(CA)) == {secret_data.CA_CERTIFICATE, secret_data.CA_KEY}
    assert bench.all_accept(bench.files_of(CA)[secret_data.CA_CERTIFICATE])


def _new_process(old: Outside) -> Outside:
    fresh = Outside(old.api)
    fresh.clock = old.clock
    fresh.context = replace(old.context, secrets=fresh.secrets)
    return fresh


@pytest.mark.parametrize("effect", [PrepareAuthority, PromoteAuthority, DropAuthority])
async def test_a_replaced_ca_is_not_changed(
    effect: type[EffectByUid],
) -> None:
    bench = await rotating_cluster()
    before = bench.files_of(CA)
    with pytest.raises(Transient, match="was replaced"):
        await run(bench.outside.context, bench.resolved, effect(CA.name, "uid-of-a-former-one"))
    assert bench.files_of(CA) == before


@pytest.mark.parametrize("effect", [PromoteAuthority, DropAuthority])
async def test_a_step_without_its_entries_changes_nothing(effect: type[EffectByUid]) -> None:
    bench = await rotating_cluster()
    before = bench.files_of(CA)
    uid = bench.secrets()[CA.name].uid
    with pytest.raises(Transient):
        await run(bench.outside.context, bench.resolved, effect(CA.name, uid))
    assert bench.files_of(CA) == before


async def test_a_second_ca_is_never_overwritten() -> None:
    bench = await rotating_cluster()
    uid = bench.secrets()[CA.name].uid
    await run(bench.outside.context, bench.resolved, PrepareAuthority(CA.name, uid))
    before = bench.files_of(CA)
    with pytest.raises(Transient, match="second CA"):
        await run(bench.outside.context, bench.resolved, PrepareAuthority(CA.name, uid))
    assert bench.files_of(CA) == before


async def run(context: Context, resolved: Resolved, effect: Effect) -> None:
    await EFFECTS[type(effect)](context, resolved, effect)


async def test_no_step_without_certificates() -> None:
    bench = await rotating_cluster()
    nothing = gen.secret("x-tls-ca")
    assert next_step(bench.resolved, bench.facts(), nothing, nothing).action is None
